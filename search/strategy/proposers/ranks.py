"""Ranks trials with different numbers of epochs, for proposers that learn from ranks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector, best, places
from skipstack.search.strategy.proposers.proposer import Curve


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank key of a trial that ended with a score. ``reached``: the last epoch of a stopped trial, else infinity.

    Completed trials come before stopped ones, and stopped ones with more epochs first, as with rungs. Completed trials
    compare by the best score of their curves, trials stopped after the same epoch by their last score, and several
    objectives by ``pareto.places``.
    """

    reached: float
    objectives: Vector

    @classmethod
    def of(cls, reason: Reason, curve: Curve, further: Vector = ()) -> "Rank | None":
        """The standing of a trial by its reports; None if it diverged, failed, or reported nothing."""
        if reason not in ("completed", "stopped") or not curve:
            return None
        (last, score), best = curve[-1], max(score for _, score in curve)
        reached, merit = (math.inf, best) if reason == "completed" else (float(last), score)
        return cls(reached, (merit, *further))


def best_first(standings: Sequence[Rank]) -> list[int]:
    """Indices into ``standings``, the best trial first; of equal ones, the earlier."""
    ordered: list[int] = []
    for reached in sorted({each.reached for each in standings}, reverse=True):
        rivals = [place for place, each in enumerate(standings) if each.reached == reached]
        ranks = places([standings[place].objectives for place in rivals])
        ordered += [place for _, place in sorted(zip(ranks, rivals, strict=True))]
    return ordered


def leading(standings: Sequence[Rank], most: int) -> list[int]:
    """Indices of the ``most`` best, without ranking the others; equal ones with several objectives may be reordered."""
    found: list[int] = []
    for reached in sorted({each.reached for each in standings}, reverse=True):
        if len(found) < most:
            rivals = [place for place, each in enumerate(standings) if each.reached == reached]
            ahead = best([standings[place].objectives for place in rivals], most - len(found))
            found += [rivals[place] for place in ahead]
    return found
