"""Stopping-ASHA, read off the whole history at each report, in exact fractions.

Li et al. (2020), algorithm 2, in the stopping form: the trials that stood at a rung before are its
competitors; a trial goes on if its score is at least their (1 - 1/reduction) quantile.
"""

import math
from collections.abc import Sequence
from fractions import Fraction


def decisions(
    reports: Sequence[tuple[int, int, float]], *, grace: int, reduction: int, maximum: int
) -> list[tuple[str, int | None]]:
    """The action and the rung for each report (trial, epoch, score), in order of arrival."""
    answers: list[tuple[str, int | None]] = []
    for position, (_, epoch, score) in enumerate(reports):
        earlier = [other for _, at, other in reports[:position] if at == epoch and math.isfinite(other)]
        if not math.isfinite(score):
            answers.append(("stop", None))
        elif epoch == maximum:
            answers.append(("complete", None))
        elif not _is_rung(epoch, grace, reduction):
            answers.append(("continue", None))
        elif earlier and Fraction(score) < quantile(earlier, 1 - Fraction(1, reduction)):
            answers.append(("stop", epoch))
        else:
            answers.append(("continue", epoch))
    return answers


def _is_rung(epoch: int, grace: int, reduction: int) -> bool:
    while epoch > grace and epoch % reduction == 0:
        epoch //= reduction
    return epoch == grace


def quantile(scores: Sequence[float], share: Fraction) -> Fraction:
    """The ``share`` quantile, interpolated linearly between order statistics."""
    ordered = sorted(Fraction(score) for score in scores)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
