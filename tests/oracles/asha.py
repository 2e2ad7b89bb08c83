"""ASHA, read off the whole history at each report, in exact fractions.

Li et al. (2020), algorithm 2. In the stopping form the trials that stood at a rung before are a trial's competitors; it
goes on if its score is at least their (1 - 1/reduction) quantile. In the paper's own, ``get_job``.
"""

import math
from collections.abc import Collection, Sequence
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


def get_job(
    reports: Sequence[tuple[int, int, float]],
    promoted: Collection[tuple[int, int]],
    *,
    grace: int,
    reduction: int,
    maximum: int,
) -> int | None:
    """The trial that is promoted, or None where a new one is grown; ``promoted`` has (trial, rung) for all promotions.

    The paper's loop, line by line: from the top rung down, the top 1/reduction of those that ever came to the rung are
    its candidates, and those of them that were not promoted from it are promotable; the best one goes on.
    """
    for rung in reversed([epoch for epoch in range(1, maximum) if _is_rung(epoch, grace, reduction)]):
        there = [(trial, score) for trial, epoch, score in reports if epoch == rung and math.isfinite(score)]
        ranked = sorted(there, key=lambda each: -each[1])  # stable: of equals the first to arrive
        candidates = ranked[: len(there) // reduction]
        promotable = [trial for trial, _ in candidates if (trial, rung) not in promoted]
        if promotable:
            return promotable[0]
    return None


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
