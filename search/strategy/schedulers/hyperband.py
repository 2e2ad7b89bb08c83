"""Hyperband: brackets of successive halving, each rung judged once all its trials are there."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import final

from skipstack.search.strategy.schedulers.config import HyperbandConfig
from skipstack.search.strategy.schedulers.halving import Arrivals, RungScheduler, sizes
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision

Judged = tuple[int, list[int], list[int]]
"""A rung by its index, and its waiting trials, the best first: those to be promoted, and those that are beaten."""


@dataclass(slots=True)
class HyperbandRung(Arrivals):
    """A rung. ``lost``: how many trials ended before they reached it; of those that arrived, ``left`` went on, and
    ``out`` ended while they were paused.
    """

    lost: int = 0
    left: set[int] = field(default_factory=set)
    out: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Bracket:
    """A bracket of successive halving: its rungs, and its initial number of trials."""

    rungs: list[HyperbandRung]
    size: int

    def kept(self, place: int, size: int, reduction: int) -> int:
        """The number of trials that go on from the rung with the index ``place``, in a bracket of ``size`` trials."""
        return max(size // int(reduction ** (place + 1)), 1)

    def judged(self, size: int, reduction: int) -> Iterator[Judged]:
        """The rungs that all due trials have reached, if the bracket starts with ``size`` trials.

        Only the last of these rungs has trials to promote: the next one is not complete before they arrive.
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
    """Hyperband with all its brackets in turn, then again from the first.

    Source: Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization" (2018), algorithm 1,
    where R is the resource of a whole trial over ``grace``, and eta ``reduction``. With s_max + 1 brackets,
    s = s_max, ..., 0, bracket s starts with n trials at the rung r, and from rung i the best go on:

        n = ceil((s_max + 1) * eta**s / (s + 1)),  r = R / eta**s,  n_i = floor(n / eta**i),  r_i = r * eta**i

    Trials pause at a rung until the last one of their bracket has reached it or ended; then the best are promoted and
    the others end. Brackets are filled in the order of trial numbers, and the next one starts while one waits. Of equal
    scores the first to arrive is better.

    Departures: rungs go up from ``grace`` in whole numbers, so s_max is the number of rungs below a whole trial, and if
    R is no power of eta the last interval is the shorter one. A bracket that the end of the study cuts short, at n' < n
    trials, keeps floor(n' / eta**i) at rung i, and at least one. A spared trial never pauses; if it is not among the
    best it goes on in addition to them.
    """

    def __init__(
        self, config: HyperbandConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds, brackets=None)
        self._reduction = config.reduction
        self.sizes = sizes(len(self.ladders), config.reduction)
        """The initial number of trials of each bracket."""
        self._ends = tuple(accumulate(self.sizes))
        self._runs: dict[int, _Bracket] = {}
        """The running brackets by the number of their first trial."""
        self._ready: dict[int, tuple[int, int]] = {}
        """The next trial to promote in each full bracket, as its level and number, by the bracket's first trial."""
        self._beaten: dict[int, list[int]] = {}
        """The paused trials that are beaten in each full bracket, by the bracket's first trial."""

    def bracket(self, trial: int) -> int:
        """The bracket of a trial, by the position of its number in a round of all brackets."""
        return bisect_right(self._ends, trial % self._ends[-1])

    def promotable(self, trials: int | None = None) -> int | None:
        """The best paused trial that may go on, from the top rung down."""
        ready = dict(self._ready)
        if trials is not None and (last := self._first(trials)) < trials and last in self._runs:
            self._settle(last, self._runs[last].judged(trials - last, self._reduction), ready)
        return min((-level, first, trial) for first, (level, trial) in ready.items())[2] if ready else None

    def beaten(self) -> tuple[int, ...]:
        """The paused trials of judged rungs that are not among the best."""
        return tuple(sorted(trial for losers in self._beaten.values() for trial in losers))

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
        """Enter the trial at each rung that the report reaches; returns the highest. It counts as having left the
        lower ones.
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
        """Complete a trial; where seconds are counted, it may not have reached its next rung."""
        reached = self._enter(trial, amount, score)
        if reached is not None:
            reached[1].left.add(trial)
        self._lose(trial)

    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        """The rung as it stands; whether a score is enough is known once all trials of the bracket have reached it."""
        run = self._run(trial)
        return run.rungs[place].ahead(self.ladder(trial)[place], run.kept(place, run.size, self._reduction))

    def _promote(self, trial: int) -> None:
        self._run(trial).rungs[self._next[trial] - 1].left.add(trial)
        self._changed(trial)

    def _lost(self, trial: int) -> None:
        """Keep the position of a paused trial at its rung; wait no longer for a running one."""
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
        """The first trial of the bracket to which ``trial`` belongs."""
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
        for known in (self._ready, self._beaten):
            known.pop(first, None)
        judged = list(bracket.judged(bracket.size, self._reduction))
        self._settle(first, judged, self._ready)
        if losers := [trial for _, _, beaten in judged for trial in beaten]:
            self._beaten[first] = losers

    def _settle(self, first: int, judged: Iterable[Judged], ready: dict[int, tuple[int, int]]) -> None:
        """Note in ``ready`` the best trial to promote in a bracket with these judged rungs."""
        for place, winners, _ in judged:
            if winners:
                ready[first] = self.ladder(first)[place], winners[0]
