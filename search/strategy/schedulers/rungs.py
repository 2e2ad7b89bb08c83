"""Rungs, at which trials are compared: their levels and brackets, and the ranking of the trials that arrive there."""

from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import final

from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.schedulers.config import AshaConfig, RungConfig
from skipstack.search.strategy.schedulers.scheduler import Ahead, Scheduler
from skipstack.search.strategy.schedulers.spending import Epochs, Seconds, Seeds, Spending

Entry = tuple[float, int, int]
"""A trial at a rung: its negative score, its order of arrival there, and its number."""


@dataclass(slots=True)
class Arrivals:
    """The trials that reached a rung, the best first; of equal scores the first to arrive is better."""

    arrived: list[Entry] = field(default_factory=list)

    def enter(self, trial: int, score: float) -> Entry:
        """Add a trial."""
        entry = -score, len(self.arrived), trial
        insort(self.arrived, entry)
        return entry

    def best(self, most: int) -> list[int]:
        """The best trials, at most so many."""
        return [trial for _, _, trial in self.arrived[:most]]

    def ahead(self, rung: int, most: int) -> Ahead:
        """What a further trial needs to be among the best ``most``, at the level ``rung``."""
        full = 0 < most <= len(self.arrived)
        return Ahead(rung, len(self.arrived), -self.arrived[most - 1][0] if full else None, above=full)


class RungScheduler(Scheduler):
    """A scheduler that compares trials at rungs.

    ``maximum``: the epochs of a whole trial; ``seeds``: its seeds. ``ladders``: the rungs of each bracket; bracket b
    has ``grace * reduction**(b + k)``, k = 0, 1, ..., below a whole trial.
    """

    def __init__(
        self, config: RungConfig, maximum: int, spared: frozenset[int], *, seeds: int, brackets: int | None
    ) -> None:
        whole = _whole(config, maximum, seeds)
        rungs = rungs_below(whole, config.grace, config.reduction)
        most = len(rungs) + 1
        if brackets is not None and brackets > most:
            raise UserError(
                f"search.scheduler.brackets: got {brackets} (allowed: up to {most}, since there are {len(rungs)} rungs "
                f"below {whole} {config.resource})"
            )
        self.ladders = tuple(rungs[bracket:] for bracket in range(most if brackets is None else brackets))
        self._next: dict[int, int] = {}
        """The index on its ladder of the next rung of each trial."""
        super().__init__(maximum, spared, self._spending(config, maximum, whole))

    def _spending(self, config: RungConfig, maximum: int, whole: int) -> Spending:
        match config.resource:
            case "epochs":
                return Epochs(maximum)
            case "seconds":
                return Seconds(maximum, whole)
            case "seeds":
                return Seeds(maximum, whole, lambda trial: (*self.ladder(trial), whole))

    @property
    def rungs(self) -> tuple[int, ...]:
        """The rungs of all brackets; the first bracket has them all."""
        return self.ladders[0]

    @property
    def earliest(self) -> int:
        """The lowest rung; if seconds are counted, the first epoch."""
        if not self.rungs:
            return self.maximum
        return {"epochs": self.rungs[0], "seconds": 1, "seeds": self.maximum}[self.spending.resource]

    @abstractmethod
    def bracket(self, trial: int) -> int:
        """The bracket of a trial: a function of its number."""

    def ladder(self, trial: int) -> tuple[int, ...]:
        """The rungs of a trial."""
        return self.ladders[self.bracket(trial)]

    @final
    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        places = range(self._next.get(trial, 0), len(self.ladder(trial)))
        return tuple(self._rung_ahead(trial, place) for place in places)

    @abstractmethod
    def _rung_ahead(self, trial: int, place: int) -> Ahead:
        """What a trial meets at a rung, by its index on the trial's ladder."""

    def _passed(self, trial: int, amount: float) -> tuple[int, ...]:
        """The indices on the trial's ladder of the rungs that this report reaches: more than one only if a report
        spends much at once, as may happen with seconds.
        """
        first, ladder = self._next.get(trial, 0), self.ladder(trial)
        place = first
        while place < len(ladder) and ladder[place] <= amount:
            place += 1
        self._next[trial] = place
        return tuple(range(first, place))


class Asynchronous(RungScheduler, ABC):
    """Rungs in brackets, to which trials are assigned so that each bracket takes about the same amount of the resource.

    Li et al. (2020) use the brackets in turn, as Hyperband does; Ray draws them. Here a trial's number alone determines
    its bracket (``dealt``).
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
        """The bracket of a trial."""
        while trial >= len(self._brackets):
            self._brackets.append(next(self._deal))
        return self._brackets[trial]


def _whole(config: RungConfig, epochs: int, seeds: int) -> int:
    """The amount of the resource that a whole trial gets."""
    match config.resource:
        case "epochs":
            return epochs
        case "seeds":
            return seeds
        case "seconds":
            assert config.maximum is not None, "with seconds a config says how many"
            return config.maximum


def rungs_below(whole: int, grace: int, reduction: int) -> tuple[int, ...]:
    """The levels ``grace * reduction**k`` below ``whole``, ascending; none if ``grace`` is not below it."""
    levels = (grace * reduction**k for k in count())
    return tuple(takewhile(lambda level: level < whole, levels))


def sizes(most: int, reduction: int) -> tuple[int, ...]:
    """The initial number of trials of each of ``most`` brackets, so that each takes about the same amount of resource.

    n_s = ceil(most * reduction**s / (s + 1)), s = most - 1, ..., 0 (Li et al., 2018, algorithm 1): the bracket with
    the lowest rung comes first.
    """
    return tuple(-(-most * reduction**s // (s + 1)) for s in reversed(range(most)))


def dealt(shares: Sequence[int]) -> Iterator[int]:
    """Yields the bracket of trial 0, 1, 2, ... without end: the one furthest behind its share, ties to the first."""
    given = [0] * len(shares)
    for trials in count(1):
        behind = [share * trials - own * sum(shares) for share, own in zip(shares, given, strict=True)]
        bracket = behind.index(max(behind))
        given[bracket] += 1
        yield bracket
