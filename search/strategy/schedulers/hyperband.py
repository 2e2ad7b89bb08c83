"""Hyperband: brackets of successive halving in which a trial waits at each rung for the other trials of its bracket."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import final

from skipstack.search.strategy.schedulers.config import HyperbandConfig
from skipstack.search.strategy.schedulers.halving import Arrivals, RungScheduler, sizes
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision

Judged = tuple[int, list[int], list[int]]
"""A compared rung: its index, the paused trials to promote, and the beaten paused trials. Both lists are best first."""


@dataclass(slots=True)
class HyperbandRung(Arrivals):
    """A rung of one bracket. ``lost``: the number of trials that ended between the rung below and this one. ``left``:
    the trials that reached the rung and continued. ``out``: the trials that ended while paused at the rung.
    """

    lost: int = 0
    left: set[int] = field(default_factory=set)
    out: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Bracket:
    """A running bracket of successive halving. ``rungs``: the lowest first. ``size``: the number of its trials."""

    rungs: list[HyperbandRung]
    size: int

    def kept(self, place: int, size: int, reduction: int) -> int:
        """The number of trials that continue from the rung with index ``place`` if ``size`` trials start."""
        return max(size // int(reduction ** (place + 1)), 1)

    def judged(self, size: int, reduction: int) -> Iterator[Judged]:
        """Yields the rungs at which trials can be compared because all expected trials have arrived or ended, from the
        lowest up. The lowest rung expects all trials that start, and each other rung those that continued from the rung
        below. Stops after the first rung with trials to promote, since the rung above waits for them. ``size``: the
        number of trials that start.
        """
        expected = size
        for place, rung in enumerate(self.rungs):
            if len(rung.arrived) + rung.lost < expected:
                return
            kept = self.kept(place, size, reduction)
            winners, losers = (
                [trial for _, _, trial in part if trial not in rung.left and trial not in rung.out]
                for part in (rung.arrived[:kept], rung.arrived[kept:])
            )
            yield place, winners, losers
            if winners:
                return
            expected = len(rung.left)


@final
class Hyperband(RungScheduler):
    """Hyperband, which runs all its brackets in turn and then starts again with the first.

    Source: Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization" (2018), algorithm 1. R
    is the resource of a trial that completes, divided by ``grace``, and eta is ``reduction``. There are s_max + 1
    brackets, s = s_max, ..., 0. Bracket s starts with n trials that are first compared at the rung r. After i
    comparisons n_i trials are left, which train up to r_i:

        n = ceil((s_max + 1) * eta**s / (s + 1)),  r = R / eta**s,  n_i = floor(n / eta**i),  r_i = r * eta**i

    Trials pause at a rung until every trial of their bracket has reached it or ended. The best are then promoted, and
    the others end. Brackets are filled in the order of trial numbers, and the next bracket starts while trials of the
    current one are paused. Of trials with equal scores, the first to arrive is better.

    Departures: rungs are ``grace`` times whole powers of eta, so s_max is the number of rungs below the end of a trial.
    If R is no power of eta, the interval above the last rung is shorter. A bracket for which the study has only n' < n
    trials left keeps floor(n' / eta**i) after i comparisons, and at least one. A spared trial never waits. If it is not
    among the best, it continues in addition to them.
    """

    def __init__(
        self, config: HyperbandConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds, brackets=None)
        self._reduction = config.reduction
        self.sizes = sizes(len(self.ladders), config.reduction)
        """The number of trials that start in each bracket."""
        self._ends = tuple(accumulate(self.sizes))
        self._runs: dict[int, _Bracket] = {}
        """The running brackets, by the number of the bracket's first trial."""
        self._judged: dict[int, list[Judged]] = {}
        """The compared rungs with trials to promote or beaten trials, by the number of the bracket's first trial. All
        trials of a bracket are assumed to start.
        """

    def bracket(self, trial: int) -> int:
        """The bracket of a trial. Trial numbers fill bracket after bracket, and then start again with the first."""
        return bisect_right(self._ends, trial % self._ends[-1])

    def promotable(self, trials: int | None = None) -> int | None:
        """The best paused trial to promote at the highest rung that has one; None if there is none.

        ``trials``: the final number of trials, if known. The last bracket then does not wait for trials that will not
        start.
        """
        judged = self._judged
        if trials is not None and (last := self._first(trials)) < trials and last in self._runs:
            judged = {**judged, last: list(self._runs[last].judged(trials - last, self._reduction))}
        ready = [
            (-self.ladder(first)[place], first, winners[0])
            for first, rungs in judged.items()
            for place, winners, _ in rungs
            if winners
        ]
        return min(ready)[2] if ready else None

    def beaten(self) -> tuple[int, ...]:
        """The paused trials that were compared at their rung and are not among the best there, ascending."""
        return tuple(sorted(trial for rungs in self._judged.values() for _, _, losers in rungs for trial in losers))

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        reached = self._enter(trial, amount, score)
        if reached is None:
            return Decision("continue")
        level, rung = reached
        if trial in self.spared:
            rung.left.add(trial)
        self._changed(trial)
        return Decision("pause", rung=level)

    def _enter(self, trial: int, amount: float, score: float) -> tuple[int, HyperbandRung] | None:
        """Enter the trial at each rung that its report reaches. The trial counts as having continued from all of these
        but the highest. Returns the level of the highest rung, and this rung; None if the report reaches none.
        """
        run, reached = self._run(trial), None
        for place in self._passed(trial, amount):
            if reached is not None:
                reached[1].left.add(trial)
            rung = run.rungs[place]
            rung.enter(trial, score)
            reached = self.ladder(trial)[place], rung
        return reached

    def _completed(self, trial: int, amount: float, score: float) -> None:
        """Record that a trial has completed. If the resource is seconds, the trial may have skipped rungs."""
        reached = self._enter(trial, amount, score)
        if reached is not None:
            reached[1].left.add(trial)
        self._lose(trial)

    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        """The score needed at a rung, given the trials that have arrived so far. Later arrivals may change it."""
        run = self._run(trial)
        return run.rungs[place].ahead(self.ladder(trial)[place], run.kept(place, run.size, self._reduction))

    def _promote(self, trial: int) -> None:
        self._run(trial).rungs[self._next[trial] - 1].left.add(trial)
        self._changed(trial)

    def _lost(self, trial: int) -> None:
        """Record that a trial ended early. If it was paused, it keeps its position at its rung. If it was running, its
        next rung no longer waits for it.
        """
        place = self._next.get(trial, 0)
        rung = self._run(trial).rungs[place - 1] if place else None
        if rung is None or trial in rung.left:
            self._lose(trial)
        else:
            rung.out.add(trial)
            self._changed(trial)

    def _lose(self, trial: int) -> None:
        rungs, place = self._run(trial).rungs, self._next.get(trial, 0)
        if place < len(rungs):
            rungs[place].lost += 1
        self._changed(trial)

    def _first(self, trial: int) -> int:
        """The number of the first trial in the bracket of ``trial``."""
        start, bracket = trial - trial % self._ends[-1], self.bracket(trial)
        return start + (self._ends[bracket - 1] if bracket else 0)

    def _run(self, trial: int) -> _Bracket:
        first, bracket = self._first(trial), self.bracket(trial)
        if first not in self._runs:
            rungs = [HyperbandRung() for _ in self.ladders[bracket]]
            self._runs[first] = _Bracket(rungs, self.sizes[bracket])
        return self._runs[first]

    def _changed(self, trial: int) -> None:
        first, bracket = self._first(trial), self._run(trial)
        judged = bracket.judged(bracket.size, self._reduction)
        self._judged.pop(first, None)
        if undecided := [(place, winners, losers) for place, winners, losers in judged if winners or losers]:
            self._judged[first] = undecided
