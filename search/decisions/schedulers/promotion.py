"""Asynchronous successive halving as its paper has it: trials pause at rungs and are promoted."""

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import final

from skipstack.search.decisions.pareto import Vector, places
from skipstack.search.decisions.schedulers.arrivals import Arrivals, Entry
from skipstack.search.decisions.schedulers.config import AshaConfig
from skipstack.search.decisions.schedulers.rungs import Asynchronous
from skipstack.search.decisions.schedulers.scheduler import Decision


@dataclass(slots=True)
class PromotionRung(Arrivals):
    """``waiting``: those of the arrived that are paused here; ``entries``: the arrived by trial; ``points``: what each
    reached, of several objectives.
    """

    waiting: list[Entry] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)
    points: dict[int, Vector] = field(default_factory=dict)

    def enter_at(self, trial: int, point: Vector) -> None:
        """A trial arrives. Of several objectives it may change the places of the others."""
        if len(point) == 1:
            self.entries[trial] = self.enter(trial, point[0])
            return
        self.points[trial] = point
        ranked = zip(self.points, places(list(self.points.values())), strict=True)
        self.arrived = sorted((float(place), arrival, each) for arrival, (each, place) in enumerate(ranked))
        self.entries = {entry[2]: entry for entry in self.arrived}
        self.waiting = sorted(self.entries[each] for _, _, each in self.waiting)

    def wait(self, trial: int) -> None:
        """A trial that arrived pauses here."""
        insort(self.waiting, self.entries[trial])

    def leave(self, trial: int) -> None:
        """A trial that paused here goes on, or is over."""
        del self.waiting[bisect_left(self.waiting, self.entries[trial])]

    def promotable(self, reduction: int) -> int | None:
        """The best that waits, if it is among the best ``len(arrived) / reduction``."""
        if not self.waiting:
            return None
        best = self.waiting[0]
        return best[2] if bisect_left(self.arrived, best) < len(self.arrived) // reduction else None


@final
class Promotion(Asynchronous):
    """Asynchronous successive halving, promotion variant.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2. A trial that
    reaches a rung is paused. When a worker is free, the rungs are gone through from the top down: the best of the
    floor(n / reduction) best ones of the n trials that ever reached a rung, unless it was promoted before, goes on to
    the next rung. Only where there is none, a new trial begins at the bottom. Of equal scores the first to arrive is
    better; of rungs at the same height, that of the first bracket comes first.

    Where the paper is silent: a spared trial is never paused, and counts as promoted. A report that reaches several
    rungs at once counts as promoted at all but the highest of them. A trial that diverges or fails between two rungs
    keeps its place at those that it reached.
    """

    def __init__(
        self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int = 1
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds)
        places = [(level, bracket) for bracket, ladder in enumerate(self.ladders) for level in ladder]
        self._rungs = {place: PromotionRung() for place in sorted(places, key=lambda place: (-place[0], place[1]))}
        """By level and bracket, in the order in which they are gone through."""
        self._where: dict[int, PromotionRung] = {}
        """Of each paused trial."""

    def promotable(self, trials: int | None = None) -> int | None:
        """From the top rung down, the best trial that is paused and among the best of its rung."""
        found = (rung.promotable(self._reduction) for rung in self._rungs.values())
        return next((trial for trial in found if trial is not None), None)

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        entered = self._enter(trial, amount, score)
        if not entered:
            return Decision("continue")
        level, rung = entered[-1]
        if trial not in self.spared:
            rung.wait(trial)
            self._where[trial] = rung
        return Decision("pause", rung=level)

    def _enter(self, trial: int, amount: float, score: float) -> list[tuple[int, PromotionRung]]:
        entered = []
        for place in self._passed(trial, amount):
            level = self.ladder(trial)[place]
            rung = self._rungs[level, self.bracket(trial)]
            rung.enter_at(trial, (score, *self._further.get(trial, ())))
            entered.append((level, rung))
        return entered

    def _completed(self, trial: int, amount: float, score: float) -> None:
        self._enter(trial, amount, score)

    def _promote(self, trial: int) -> None:
        self._where.pop(trial).leave(trial)

    def _lost(self, trial: int) -> None:
        if trial in self._where:
            self._promote(trial)
