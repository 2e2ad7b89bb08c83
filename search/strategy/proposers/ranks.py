"""Ranks trials that reported different numbers of epochs, for proposers that learn from ranks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector, best, places
from skipstack.search.strategy.proposers.proposer import Curve


@dataclass(frozen=True, slots=True)
class Rank:
    """The key by which a trial that ended with a score is ranked.

    ``reached``: the last epoch of a stopped trial; infinity for a completed trial. ``objectives``: the score by which
    the trial is compared, and its values in the further objectives.

    Completed trials rank before stopped ones, and stopped trials with more epochs before those with fewer, as at rungs.
    Completed trials are compared by the best score of their curves, and trials stopped after the same epoch by their
    last score. With several objectives, the order among such trials is that of ``pareto.places``.
    """

    reached: float
    objectives: Vector

    @classmethod
    def of(cls, reason: Reason, curve: Curve, further: Vector = ()) -> "Rank | None":
        """The rank key of a trial that ended for ``reason`` with these reports; None if it diverged, failed, or
        reported nothing. ``further``: its values in the objectives after the score.
        """
        if reason not in ("completed", "stopped") or not curve:
            return None
        (last, score), best = curve[-1], max(score for _, score in curve)
        reached, merit = (math.inf, best) if reason == "completed" else (float(last), score)
        return cls(reached, (merit, *further))


def best_first(standings: Sequence[Rank]) -> list[int]:
    """The indices of ``standings``, the best trial first. Of equal trials, the earlier comes first."""
    ordered: list[int] = []
    for reached in sorted({each.reached for each in standings}, reverse=True):
        rivals = [place for place, each in enumerate(standings) if each.reached == reached]
        ranks = places([standings[place].objectives for place in rivals])
        ordered += [place for _, place in sorted(zip(ranks, rivals, strict=True))]
    return ordered


def leading(standings: Sequence[Rank], most: int) -> list[int]:
    """The indices of the ``most`` best trials in ``standings``; the other trials are not ranked. With several
    objectives, equal trials may come in another order than in ``best_first``.
    """
    found: list[int] = []
    for reached in sorted({each.reached for each in standings}, reverse=True):
        if len(found) < most:
            rivals = [place for place, each in enumerate(standings) if each.reached == reached]
            ahead = best([standings[place].objectives for place in rivals], most - len(found))
            found += [rivals[place] for place in ahead]
    return found
