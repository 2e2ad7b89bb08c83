"""Median stopping and "one epoch, keep the best" from their definitions, each decision over the whole history."""

import math
import statistics
from collections.abc import Sequence
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
