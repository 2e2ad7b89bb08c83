"""Asynchronous successive halving as in its paper: trials pause at rungs and are promoted."""

from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import dataclass, field
from typing import final

from skipstack.search.strategy.objectives.fronts import Fronts
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.rungs import Arrivals, Asynchronous, Entry
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision


@dataclass(slots=True)
class PromotionRung(Arrivals):
    """A rung of a single objective. ``waiting``: the paused trials; ``entries``: all arrivals by trial."""

    waiting: list[Entry] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)

    def enter_at(self, trial: int, point: Vector) -> None:
        """Add a trial."""
        self.entries[trial] = self.enter(trial, point[0])

    def wait(self, trial: int) -> None:
        """A trial that arrived pauses here."""
        insort(self.waiting, self.entries[trial])

    def leave(self, trial: int) -> None:
        """A trial that paused here goes on, or is over."""
        del self.waiting[bisect_left(self.waiting, self.entries[trial])]

    def promotable(self, reduction: int) -> int | None:
        """The best paused trial, if it is among the best ``len(arrived) / reduction``."""
        if not self.waiting:
            return None
        best = self.waiting[0]
        return best[2] if bisect_left(self.arrived, best) < len(self.arrived) // reduction else None


@final
class FrontRung:
    """A rung of several objectives: an arrival may change the places of others, so places are computed when needed."""

    def __init__(self) -> None:
        self._fronts = Fronts()
        self._points: dict[int, Vector] = {}
        self._arrived: defaultdict[Vector, list[int]] = defaultdict(list)
        self._waiting: set[int] = set()

    def enter_at(self, trial: int, point: Vector) -> None:
        """Add a trial."""
        self._fronts.add(point)
        self._points[trial] = point
        self._arrived[point].append(trial)

    def wait(self, trial: int) -> None:
        """A trial that arrived pauses here."""
        self._waiting.add(trial)

    def leave(self, trial: int) -> None:
        """A trial that paused here goes on, or is over."""
        self._waiting.remove(trial)

    def promotable(self, reduction: int) -> int | None:
        """The best paused trial, if it is among the best ``len(arrived) / reduction``; ties go to the earliest."""
        rank = min((self._fronts.rank(self._points[trial]) for trial in self._waiting), default=None)
        if rank is None:
            return None
        place, most = self._fronts.before(rank), len(self._fronts) // reduction
        for point in self._fronts.order(rank):
            for trial in self._arrived[point]:
                if place >= most or trial in self._waiting:
                    return trial if place < most else None
                place += 1
        raise AssertionError("one of the rank waits")


@final
class Promotion(Asynchronous):
    """Asynchronous successive halving, promotion variant.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2. A trial that
    reaches a rung is paused. When a worker is free, rungs are checked from the top down: of the n trials that ever
    reached a rung, the best one that is among the floor(n / reduction) best and was not promoted before goes on to the
    next rung. Only if there is none, a new trial starts at the bottom. Of equal scores the first to arrive is better;
    of rungs at the same level, that of the first bracket comes first.

    Where the paper is silent: a spared trial is never paused, and counts as promoted. A report that reaches several
    rungs at once counts as promoted at all but the highest of them. A trial that diverges or fails between two rungs
    keeps its place at the rungs that it reached.
    """

    def __init__(
        self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int = 1
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds)
        places = [(level, bracket) for bracket, ladder in enumerate(self.ladders) for level in ladder]
        self._places = sorted(places, key=lambda place: (-place[0], place[1]))
        """Level and bracket of each rung, in the order in which they are checked."""
        self._rungs: dict[tuple[int, int], PromotionRung | FrontRung] = {}
        self._where: dict[int, PromotionRung | FrontRung] = {}
        """The rung of each paused trial."""

    def promotable(self, trials: int | None = None) -> int | None:
        """From the top rung down, the best paused trial that is among the best of its rung."""
        rungs = (self._rungs[place] for place in self._places if place in self._rungs)
        found = (rung.promotable(self._reduction) for rung in rungs)
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

    def _enter(self, trial: int, amount: float, score: float) -> list[tuple[int, PromotionRung | FrontRung]]:
        entered = []
        for place in self._passed(trial, amount):
            level, further = self.ladder(trial)[place], self._further.get(trial, ())
            rung = self._rungs.setdefault((level, self.bracket(trial)), FrontRung() if further else PromotionRung())
            rung.enter_at(trial, (score, *further))
            entered.append((level, rung))
        return entered

    def _completed(self, trial: int, amount: float, score: float) -> None:
        self._enter(trial, amount, score)

    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        level = self.ladder(trial)[place]
        rung = self._rungs.get((level, self.bracket(trial)))
        if not isinstance(rung, PromotionRung):
            return Ahead(level, 0, None)
        return rung.ahead(level, (len(rung.arrived) + 1) // self._reduction)

    def _promote(self, trial: int) -> None:
        self._where.pop(trial).leave(trial)

    def _lost(self, trial: int) -> None:
        if trial in self._where:
            self._promote(trial)
