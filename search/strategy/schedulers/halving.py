"""Successive halving: trials are compared at rungs, and about 1/reduction of the trials that reach a rung continue.

The rungs of the first bracket (b = 0), with reduction 3, grace 1, and 27 epochs for a trial that completes::

    rung 1     9 trials arrive, the best 3 continue
    rung 3     3 trials arrive, the best 1 continues
    rung 9     1 trial arrives, and continues to 27

``Asha`` compares each arriving trial with the trials that arrived before it, and stops it or lets it continue.
``Promotion`` pauses each arriving trial. When a worker is free, ``Promotion`` resumes the best paused trial that is
among the best 1/reduction at its rung. ``Hyperband`` (``hyperband.py``) waits until all trials have arrived.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import final

from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.objectives.fronts import Fronts
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.schedulers.config import AshaConfig, RungConfig
from skipstack.search.strategy.schedulers.scheduler import (
    Ahead,
    Decision,
    Epochs,
    Scheduler,
    Seconds,
    Seeds,
    Spending,
)

Entry = tuple[float, int, int]
"""A trial at a rung, as a key that sorts the best first: negative score, order of arrival, and number."""


@dataclass(slots=True)
class Arrivals:
    """The trials that reached a rung, the best first. Of equal scores, the first to arrive is better."""

    arrived: list[Entry] = field(default_factory=list)

    def enter(self, trial: int, score: float) -> Entry:
        """Add a trial that reached the rung with ``score``, and return its entry."""
        entry = -score, len(self.arrived), trial
        insort(self.arrived, entry)
        return entry

    def best(self, most: int) -> list[int]:
        """The numbers of the best trials, at most ``most``."""
        return [trial for _, _, trial in self.arrived[:most]]

    def ahead(self, rung: int, most: int) -> Ahead:
        """The score that the next trial must have at this rung to be one of the ``most`` best. ``rung``: the level of
        this rung.
        """
        full = 0 < most <= len(self.arrived)
        return Ahead(rung, len(self.arrived), -self.arrived[most - 1][0] if full else None, above=full)


class RungScheduler(Scheduler):
    """A scheduler that compares trials at rungs, in one or more brackets. A bracket is a group of trials with the same
    rungs. Raises UserError for more brackets than the rungs allow.

    ``maximum``: the epochs of a trial that completes. ``spared``: trials that are never stopped by a comparison.
    ``seeds``: the seeds of a trial. ``brackets``: the number of brackets; None means as many as the rungs allow. The
    attribute ``ladders`` has the rungs of each bracket b: ``grace * reduction**(b + k)``, k = 0, 1, ..., below the
    resource of a trial that completes.
    """

    def __init__(
        self, config: RungConfig, maximum: int, spared: frozenset[int], *, seeds: int, brackets: int | None
    ) -> None:
        super().__init__(maximum, spared, self._spending(config, maximum, seeds))
        whole = self.spending.whole
        rungs = rungs_below(whole, config.grace, config.reduction)
        most = len(rungs) + 1
        if brackets is not None and brackets > most:
            raise UserError(
                f"search.scheduler.brackets: got {brackets} (allowed: up to {most}, since there are {len(rungs)} rungs "
                f"below {whole} {config.resource})"
            )
        self.ladders = tuple(rungs[bracket:] for bracket in range(most if brackets is None else brackets))
        self._next: dict[int, int] = {}
        """The index of each trial's next rung in its ladder."""

    def _spending(self, config: RungConfig, maximum: int, seeds: int) -> Spending:
        match config.resource:
            case "epochs":
                return Epochs(maximum)
            case "seconds":
                assert config.maximum is not None, "with seconds a config says how many"
                return Seconds(maximum, config.maximum)
            case "seeds":
                return Seeds(maximum, seeds, lambda trial: (*self.ladder(trial), seeds))

    @property
    def rungs(self) -> tuple[int, ...]:
        """The rungs of the first bracket, which include the rungs of every other bracket."""
        return self.ladders[0]

    @property
    def earliest(self) -> int:
        """The first epoch after which a comparison can stop a trial. If the resource is epochs, this is the lowest
        rung. If it is seconds, it is the first epoch. If it is seeds, or if there are no rungs, it is the last epoch.
        """
        if not self.rungs:
            return self.maximum
        return {"epochs": self.rungs[0], "seconds": 1, "seeds": self.maximum}[self.spending.resource]

    @abstractmethod
    def bracket(self, trial: int) -> int:
        """The bracket of a trial, which depends only on the trial's number."""

    def ladder(self, trial: int) -> tuple[int, ...]:
        """The rungs of the trial's bracket."""
        return self.ladders[self.bracket(trial)]

    @final
    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        places = range(self._next.get(trial, 0), len(self.ladder(trial)))
        return tuple(self._rung_ahead(trial, place) for place in places)

    @abstractmethod
    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        """The comparison at a rung that a trial has not reached. ``place``: the rung's index in the trial's ladder."""

    def _passed(self, trial: int, amount: float) -> tuple[int, ...]:
        """Advance the trial to its next rung above ``amount``, its spent resource. Returns the newly reached rungs, as
        indices in the trial's ladder. If the resource is seconds, a report can reach several rungs.
        """
        first = self._next.get(trial, 0)
        self._next[trial] = bisect_right(self.ladder(trial), amount, first)
        return tuple(range(first, self._next[trial]))


class Asynchronous(RungScheduler, ABC):
    """A rung scheduler whose brackets each take about the same amount of the resource. A trial's number alone
    determines its bracket (``dealt``). Departures: Li et al. (2020) use the brackets in turn, as Hyperband does, and
    Ray draws them at random.
    """

    def __init__(
        self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int = 1
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds, brackets=config.brackets)
        self._reduction = config.reduction
        self._brackets: list[int] = []
        self._deal = dealt(sizes(len(self.rungs) + 1, config.reduction)[: config.brackets])

    @final
    def bracket(self, trial: int) -> int:
        """The bracket that ``dealt`` assigns to a trial."""
        while trial >= len(self._brackets):
            self._brackets.append(next(self._deal))
        return self._brackets[trial]


@final
class Asha(Asynchronous):
    """Asynchronous successive halving, stopping variant.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2, in the stopping form
    that Ray Tune 2.60 calls ``AsyncHyperBandScheduler``. Rung k of bracket b is at

        grace * reduction**(b + k) < whole,    k = 0, 1, ...

    where ``whole`` is the resource of a trial that completes. The first trial at a rung continues. Any other trial
    continues if its score is at least the (1 - 1/reduction) quantile of the scores of the trials that reached the rung
    before it. The score of every trial is recorded at the rung. The quantile of n sorted scores s_0 <= ... <= s_{n-1}
    is interpolated linearly at index (n - 1) * (1 - 1/reduction). A trial whose report reaches several rungs is
    compared at each of them, and stops if it is below any of the quantiles.

    With several objectives, the score of a trial at a rung is the negative number of trials ordered before it, as in
    MO-ASHA (Schmucker et al., 2021). The order is by non-dominated ranks, ties by an epsilon-net (``pareto.places``).

    Departures from Ray: rungs and the index of the quantile use integer arithmetic instead of rounding. So a trial
    whose score equals the cutoff always continues. A trial that diverges stops, and its score enters no rung (Ray never
    stops NaN).
    """

    def __init__(
        self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int = 1
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds)
        self._scores: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
        """The ascending scores of the trials at each rung, by bracket and rung, for a single objective."""
        self._fronts: defaultdict[tuple[int, int], Fronts] = defaultdict(Fronts)
        """The scores in all objectives of the trials at each bracket and rung, for several objectives."""

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        bracket, ladder = self.bracket(trial), self.ladder(trial)
        below, reached = False, None
        for place in self._passed(trial, amount):
            reached = ladder[place]
            if further := self._further.get(trial):
                fronts = self._fronts[bracket, reached]
                fronts.add((score, *further))
                below |= _is_below(fronts, (score, *further), self._reduction)
            else:
                scores = self._scores[bracket, reached]
                below |= bool(scores) and score < _cutoff(scores, self._reduction)
                insort(scores, score)
        return Decision("stop" if below else "continue", rung=reached)

    def _completed(self, trial: int, amount: float, score: float) -> None:
        self._decide(trial, amount, score)

    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        rung = self.ladder(trial)[place]
        scores = self._scores.get((self.bracket(trial), rung), [])
        return Ahead(rung, len(scores), _cutoff(scores, self._reduction) if scores else None)


def _is_below(fronts: Fronts, own: Vector, reduction: int) -> bool:
    """Whether the trial that reached a rung last is below the cutoff; False for the first trial. ``own``: its scores.

    The place of a trial is the number of trials ordered before it (``Fronts.place``). The trial's negative place is
    compared with the cutoff, the (1 - 1/reduction) quantile of the negative places of all other trials.
    """
    others = len(fronts) - 1
    if others == 0:
        return False
    below, rest = divmod((others - 1) * (reduction - 1), reduction)
    # The quantile lies between two of the other points. This is the position of the worse one, counted from the best.
    last = others - 1 - below
    place = fronts.place(own, most=last + 2)
    if place == last + 2:
        return True  # both points between which the quantile lies are better
    # The other points from this position on are one position further back among all points.
    behind = place + fronts.times(own) - 1
    low, high = (
        -fronts.place_at(position + (position >= behind), own) for position in (last, last - 1 if rest else last)
    )
    return -place < low + (high - low) * rest / reduction


def _cutoff(recorded: list[float], reduction: int) -> float:
    """The (1 - 1/reduction) quantile of ascending scores, interpolated linearly."""
    below, rest = divmod((len(recorded) - 1) * (reduction - 1), reduction)
    if rest == 0:
        return recorded[below]
    low, high = recorded[below : below + 2]
    return low + (high - low) * rest / reduction


@dataclass(slots=True)
class PromotionRung(Arrivals):
    """A rung for promotion with one objective. ``waiting``: the trials paused at the rung, the best first. ``entries``:
    maps the number of each trial that reached the rung to its entry.
    """

    waiting: list[Entry] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)

    def enter_at(self, trial: int, point: Vector) -> None:
        """Add a trial that reached the rung. ``point``: its score, as a vector of length 1."""
        self.entries[trial] = self.enter(trial, point[0])

    def wait(self, trial: int) -> None:
        """Record that a trial is paused at this rung. Call ``enter_at`` first."""
        insort(self.waiting, self.entries[trial])

    def leave(self, trial: int) -> None:
        """Record that a trial paused at this rung was promoted or has ended."""
        del self.waiting[bisect_left(self.waiting, self.entries[trial])]

    def promotable(self, reduction: int) -> int | None:
        """The best trial paused at this rung if it is among the best 1/reduction of all arrivals; otherwise None."""
        if not self.waiting:
            return None
        best = self.waiting[0]
        return best[2] if bisect_left(self.arrived, best) < len(self.arrived) // reduction else None


@final
class FrontRung:
    """A rung for promotion with several objectives. An arriving trial may change the order of the earlier ones, so the
    order is computed only when a trial is to be promoted.
    """

    def __init__(self) -> None:
        self._fronts = Fronts()
        self._points: dict[int, Vector] = {}
        self._arrived: defaultdict[Vector, list[int]] = defaultdict(list)
        self._waiting: set[int] = set()

    def enter_at(self, trial: int, point: Vector) -> None:
        """Add a trial that reached the rung. ``point``: its scores in all objectives."""
        self._fronts.add(point)
        self._points[trial] = point
        self._arrived[point].append(trial)

    def wait(self, trial: int) -> None:
        """Record that a trial is paused at this rung. Call ``enter_at`` first."""
        self._waiting.add(trial)

    def leave(self, trial: int) -> None:
        """Record that a trial paused at this rung was promoted or has ended."""
        self._waiting.remove(trial)

    def promotable(self, reduction: int) -> int | None:
        """The best trial paused at this rung if it is among the best 1/reduction of all arrivals; otherwise None. Of
        equal trials, the first to arrive is better.
        """
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

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2. A trial that reaches
    a rung is paused. When a worker is free, rungs are checked from the highest down. Let n be the number of trials that
    ever reached a rung. The best trial paused there continues if it is among the floor(n / reduction) best of them. A
    new trial starts only if no paused trial can be promoted. Of trials with equal scores, the first to arrive is
    better. Of rungs at the same level, the rung of the first bracket is checked first.

    The paper leaves three cases open. A spared trial is never paused, and counts as promoted. A trial whose report
    reaches several rungs counts as promoted at all but the highest of them. A trial that diverges or fails between two
    rungs still counts at the rungs that it reached.
    """

    def __init__(
        self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset(), *, seeds: int = 1
    ) -> None:
        super().__init__(config, maximum, spared, seeds=seeds)
        places = [(level, bracket) for bracket, ladder in enumerate(self.ladders) for level in ladder]
        self._places = sorted(places, key=lambda place: (-place[0], place[1]))
        """The level and bracket of each rung, in the order in which rungs are checked for a trial to promote."""
        self._rungs: dict[tuple[int, int], PromotionRung | FrontRung] = {}
        self._where: dict[int, PromotionRung | FrontRung] = {}
        """The rung at which each paused trial is paused."""

    def promotable(self, trials: int | None = None) -> int | None:
        """The best trial to promote, from the highest rung that has one; otherwise None. Ignores ``trials``."""
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


def rungs_below(whole: int, grace: int, reduction: int) -> tuple[int, ...]:
    """The rungs ``grace * reduction**k``, k = 0, 1, ..., below ``whole``, ascending. May be empty."""
    levels = (grace * reduction**k for k in count())
    return tuple(takewhile(lambda level: level < whole, levels))


def sizes(most: int, reduction: int) -> tuple[int, ...]:
    """The initial number of trials of each of ``most`` brackets, so that all brackets take about the same amount of the
    resource. The bracket with the lowest rung comes first.

    n_s = ceil(most * reduction**s / (s + 1)), s = most - 1, ..., 0 (Li et al., 2018, algorithm 1).
    """
    return tuple(-(-most * reduction**s // (s + 1)) for s in reversed(range(most)))


def dealt(shares: Sequence[int]) -> Iterator[int]:
    """Yields the bracket of trial 0, 1, 2, ... without end. Each trial enters the bracket that is furthest behind its
    share of the trials; of equal brackets, the first. ``shares``: the relative number of trials of each bracket.
    """
    given = [0] * len(shares)
    for trials in count(1):
        behind = [share * trials - own * sum(shares) for share, own in zip(shares, given, strict=True)]
        bracket = behind.index(max(behind))
        given[bracket] += 1
        yield bracket
