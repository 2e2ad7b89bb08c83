"""How a trial stands among others, as far as it came: what proposers learn from rank trials by it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skipstack.search.ledger.events import Reason
from skipstack.search.objectives.pareto import Vector, places
from skipstack.search.proposers.proposer import Curve


@dataclass(frozen=True, slots=True)
class Standing:
    """A trial that ended with a score. ``reached``: its last epoch where it was stopped, infinity if it completed.

    A completed trial goes before a stopped one, and of stopped ones who came farther goes first, as rungs have it.
    Completed ones compare by the best score of their curves, stopped ones of one epoch by the last, and several
    objectives by ``pareto.places``.
    """

    reached: float
    objectives: Vector

    @classmethod
    def of(cls, reason: Reason, curve: Curve, further: Vector = ()) -> "Standing | None":
        """Of what a trial reported; None for one that diverged, that a fault ended, or that reported nothing."""
        if reason not in ("completed", "stopped") or not curve:
            return None
        (last, score), best = curve[-1], max(score for _, score in curve)
        reached, merit = (math.inf, best) if reason == "completed" else (float(last), score)
        return cls(reached, (merit, *further))


def best_first(standings: Sequence[Standing]) -> list[int]:
    """Places in ``standings``, the best trial first; of equal ones, the earlier."""
    ordered: list[int] = []
    for reached in sorted({each.reached for each in standings}, reverse=True):
        rivals = [place for place, each in enumerate(standings) if each.reached == reached]
        ranks = places([standings[place].objectives for place in rivals])
        ordered += [place for _, place in sorted(zip(ranks, rivals, strict=True))]
    return ordered
