"""Ranks trials that reported different numbers of epochs, for proposers that learn from ranks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector, best, places
from skipstack.search.strategy.proposers.proposer import Curve


@dataclass(frozen=True, slots=True)
class Rank:
    """The key that ranks a trial that ended with a score.

    ``reached``: the last epoch of a stopped trial; infinity for a completed trial. ``objectives``: the score, and the
    values in the other objectives.

    Completed trials rank before stopped trials. Of stopped trials, those with more epochs rank first, as at rungs. The
    score of completed trials is the best score of their curves. The score of stopped trials is their last score. Trials
    with equal ``reached`` are ordered by ``pareto.places``.
    """

    reached: float
    objectives: Vector

    @classmethod
    def of(cls, reason: Reason, curve: Curve, further: Vector = ()) -> "Rank | None":
        """The rank key of a trial that ended for ``reason``; None if it diverged, failed, or reported nothing.
        ``curve``: its reports. ``further``: its values in the objectives other than the score.
        """
        if reason not in ("completed", "stopped") or not curve:
            return None
        (last, score), best = curve[-1], max(score for _, score in curve)
        reached, merit = (math.inf, best) if reason == "completed" else (float(last), score)
        return cls(reached, (merit, *further))

    @classmethod
    def of_measured(cls, reason: Reason, curve: Curve, further: Vector = ()) -> "Rank | None":
        """The rank key as from ``of``, but None also if the trial lacks a value in another objective."""
        return cls.of(reason, curve, further) if all(map(math.isfinite, further)) else None


def best_first(ranks: Sequence[Rank]) -> list[int]:
    """The indices of ``ranks``, the best trial first. Of equal trials, the earlier is first."""
    ordered: list[int] = []
    for reached in sorted({each.reached for each in ranks}, reverse=True):
        rivals = [place for place, each in enumerate(ranks) if each.reached == reached]
        ahead = places([ranks[place].objectives for place in rivals])
        ordered += [place for _, place in sorted(zip(ahead, rivals, strict=True))]
    return ordered


def leading(ranks: Sequence[Rank], most: int) -> list[int]:
    """The indices of the ``most`` best trials in ``ranks``, without ranking the other trials. With several
    objectives, the order of equal trials may differ from ``best_first``.
    """
    found: list[int] = []
    for reached in sorted({each.reached for each in ranks}, reverse=True):
        if len(found) < most:
            rivals = [place for place, each in enumerate(ranks) if each.reached == reached]
            ahead = best([ranks[place].objectives for place in rivals], most - len(found))
            found += [rivals[place] for place in ahead]
    return found
