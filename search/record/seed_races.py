"""Trials whose seeds race: they are trained in groups, each from its first epoch, as long as the trial goes on.

What a trial reaches is the mean over the seeds of all its whole groups, of each group at its own best epoch, since its
weights are those of that epoch.
"""

import math
from collections.abc import Sequence

from skipstack.search.ledger.events import Metrics, Reported


def groups(reports: Sequence[Reported]) -> list[list[Reported]]:
    """The reports of each group, in the order in which they were trained."""
    by_seeds: dict[tuple[int, ...], list[Reported]] = {}
    for report in reports:
        by_seeds.setdefault(report.seeds, []).append(report)
    return list(by_seeds.values())


def best_of(reports: Sequence[Reported]) -> Reported | None:
    """The report with the highest finite score, the earliest of equals; None where there is none."""
    finite = [report for report in reports if math.isfinite(report.score)]
    return max(finite, key=lambda report: report.score, default=None)


def best_of_groups(reports: Sequence[Reported], epochs: int) -> Reported | None:
    """The best reports of all whole groups as one, with the epoch of the first; until one is whole, the first's best.

    ``epochs``: of a whole group.
    """
    first, *others = groups(reports) or [[]]
    best = [best_of(group) for group in (first, *(group for group in others if len(group) == epochs))]
    found = [report for report in best if report is not None]
    return joined(found) if len(found) == len(best) and found else None


def joined(reports: Sequence[Reported]) -> Reported:
    """Reports of several groups as one: their seeds side by side, the score the mean over them."""
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
