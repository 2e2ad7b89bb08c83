"""Scores of trials whose seeds race.

Such a trial trains its seeds in groups, one after another, each from epoch 1. It ends when it is stopped or has trained
all seeds. Its score is the mean over the seeds of all complete groups. Before any group is complete, the score is the
score of the first group. Each group counts with its own best epoch, and the weights of that epoch are kept.
"""

import math
from collections.abc import Sequence

from skipstack.search.ledger.events import Metrics, Reported


def groups(reports: Sequence[Reported]) -> list[list[Reported]]:
    """Split the reports of a trial by groups of seeds, in the order of training."""
    by_seeds: dict[tuple[int, ...], list[Reported]] = {}
    for report in reports:
        by_seeds.setdefault(report.seeds, []).append(report)
    return list(by_seeds.values())


def best_of(reports: Sequence[Reported]) -> Reported | None:
    """Return the report with the highest finite score (the first one in a tie); None if there is none."""
    finite = [report for report in reports if math.isfinite(report.score)]
    return max(finite, key=lambda report: report.score, default=None)


def best_of_groups(reports: Sequence[Reported], epochs: int) -> Reported | None:
    """Join the best reports of all complete groups into one report, with the best epoch of the first group. Before any
    group is complete, return the best report of the first group.

    Returns None if a group has no finite score. ``epochs``: the number of epochs of a complete group.
    """
    first, *others = groups(reports) or [[]]
    best = [best_of(group) for group in (first, *(group for group in others if len(group) == epochs))]
    found = [report for report in best if report is not None]
    return joined(found) if len(found) == len(best) and found else None


def joined(reports: Sequence[Reported]) -> Reported:
    """Join the reports of several groups into one, with all their seeds and the mean score over these seeds."""
    first = reports[0]
    if len(reports) == 1:
        return first
    seeds = tuple(seed for report in reports for seed in report.seeds)
    metrics: Metrics = {
        name: tuple(value for report in reports for value in report.metrics[name])
        for name in first.metrics
        if all(name in report.metrics for report in reports)
    }
    return first.model_copy(
        update={
            "time": max(report.time for report in reports),
            "seeds": seeds,
            "score": math.fsum(len(report.seeds) * report.score for report in reports) / len(seeds),
            "metrics": metrics,
            "seconds": math.fsum(report.seconds for report in reports),
        }
    )
