"""Median stopping, "one epoch, keep the best" and Hyperband by definition, each decision over the whole history."""

import math
import statistics
from collections.abc import Collection, Sequence
from fractions import Fraction

Report = tuple[int, int, float]


def median_decisions(reports: Sequence[Report], *, grace: int, minimum: int, maximum: int) -> list[str]:
    """Each report's answer: ``continue``, ``stop`` or ``complete``."""
    answers = []
    for number, (trial, epoch, score) in enumerate(reports):
        curves: dict[int, list[Fraction]] = {}
        for other, _, value in reports[: number + 1]:
            if math.isfinite(value):
                curves.setdefault(other, []).append(Fraction(value))
        if not math.isfinite(score):
            answers.append("stop")
        elif epoch == maximum:
            answers.append("complete")
        else:
            means = [
                sum(curve[:epoch]) / epoch for other, curve in curves.items() if other != trial if curve[epoch - 1 :]
            ]
            judged = epoch >= grace and len(means) >= minimum
            answers.append("stop" if judged and max(curves[trial]) < statistics.median(means) else "continue")
    return answers


def keep_best_decisions(reports: Sequence[Report], *, keep: int, maximum: int) -> list[str]:
    """Each report's answer: ``continue``, ``stop`` or ``complete``."""
    answers = []
    for number, (trial, epoch, score) in enumerate(reports):
        firsts = [(own, value) for own, at, value in reports[: number + 1] if at == 1 and math.isfinite(value)]
        if not math.isfinite(score):
            answers.append("stop")
        elif epoch == maximum:
            answers.append("complete")
        else:
            best_first = sorted(firsts, key=lambda first: -first[1])  # stable: of equals the first to arrive
            answers.append("continue" if trial in [own for own, _ in best_first[:keep]] else "stop")
    return answers


def hyperband_waiting(
    reports: Sequence[Report],
    gone_on: Collection[tuple[int, int]],
    over: Collection[int],
    *,
    members: Sequence[int],
    rungs: Sequence[int],
    reduction: int,
) -> tuple[list[int], set[int]]:
    """The trials of one bracket that are to go on now, the best first, and those that wait and never will.

    ``gone_on``: (trial, rung) of those that went on; ``over``: trials that ended, or are whole. Successive halving: of
    the n trials that a bracket begins with, the best floor(n / reduction**(i + 1)) leave rung i, and one at least, once
    everybody that is due there has come, or ended on the way.
    """
    due, beaten = set(members), set[int]()
    for number, rung in enumerate(rungs):
        there = [(trial, score) for trial, epoch, score in reports if trial in due and epoch == rung]
        there = [(trial, score) for trial, score in there if math.isfinite(score)]
        came = {trial for trial, _ in there}
        if any(trial not in came and trial not in over for trial in due):
            break
        ranked = [trial for trial, _ in sorted(there, key=lambda each: -each[1])]
        kept = max(1, len(members) // reduction ** (number + 1))
        beaten |= {trial for trial in ranked[kept:] if (trial, rung) not in gone_on and trial not in over}
        winners = [trial for trial in ranked[:kept] if (trial, rung) not in gone_on]
        if winners:
            return winners, beaten
        due = {trial for trial in came if (trial, rung) in gone_on}
    return [], beaten
