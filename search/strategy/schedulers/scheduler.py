"""The interface of schedulers, which decide whether a trial goes on; counts of the resource that trials have spent; and
the scheduler that stops nothing.

A scheduler is a state machine from reports to decisions, without clock or randomness. Replaying the reports, promotions
and ends of a ledger in order rebuilds its state and its decisions.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, final

from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.schedulers.config import Resource


@dataclass(frozen=True, slots=True)
class Decision:
    """The action of a trial after a report.

    ``pause``: it keeps its checkpoint and frees its worker until it is promoted, if ever. ``rung``: the level of the
    rung that the report reached, in the scheduler's resource, if any. ``diverged``: it stops because its score is not
    finite.
    """

    action: Literal["continue", "pause", "stop", "complete"]
    rung: int | None = None
    diverged: bool = False


@dataclass(frozen=True, slots=True)
class Ahead:
    """A rung ahead of a trial. ``results``: how many trials have reached it.

    ``needed``: the score with which the trial would go on there if it arrived now; with ``above``, a score above it.
    None: there is no threshold yet.
    """

    rung: int
    results: int
    needed: float | None
    above: bool = False


class Spending(ABC):
    """Counts the resource that trials have spent, in which rungs are counted. Only reports are counted, so a replay of
    the ledger gives the same numbers. ``epochs``: the epochs of a trial; ``whole``: the resource of a whole trial.
    """

    resource: Resource

    def __init__(self, epochs: int, whole: int) -> None:
        assert epochs >= 1
        assert whole >= 1
        self.epochs: Final = epochs
        self.whole: Final = whole
        self._last: dict[int, int] = {}

    @final
    def report(self, trial: int, epoch: int, seconds: float) -> float:
        """The amount that ``trial`` has spent after ``epoch``. Raises ValueError if another epoch is due."""
        last = self.last(trial)
        if epoch != last + 1 or epoch > self.epochs:
            raise ValueError(f"trial {trial} reports epoch {epoch} after epoch {last} of {self.epochs}")
        self._last[trial] = epoch
        return self._spent(trial, epoch, seconds)

    def last(self, trial: int) -> int:
        """The last epoch that ``trial`` reported; 0 before the first."""
        return self._last.get(trial, 0)

    def group(self, trial: int) -> range | None:
        """The racing seeds that the trial trains now or next; None if it trains all seeds at once."""
        return None

    def share(self, trial: int) -> Fraction:
        """The work of the trial's next epoch, as a share of an epoch of all seeds."""
        group = self.group(trial)
        return Fraction(1) if group is None else Fraction(len(group), self.whole)

    @abstractmethod
    def is_whole(self, trial: int, amount: float) -> bool:
        """Whether ``trial`` is complete after spending ``amount``."""

    @abstractmethod
    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        """Count an epoch, and return the amount that the trial has spent so far."""


@final
class Epochs(Spending):
    """Epochs, as they are reported."""

    resource = "epochs"

    def __init__(self, epochs: int) -> None:
        super().__init__(epochs, epochs)

    def is_whole(self, trial: int, amount: float) -> bool:
        """True after the last epoch."""
        return amount == self.epochs

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        return epoch


@final
class Seconds(Spending):
    """Seconds of training and evaluation, summed over a trial's epochs; without waiting, loading and pauses."""

    resource = "seconds"

    def __init__(self, epochs: int, whole: int) -> None:
        super().__init__(epochs, whole)
        self._seconds: dict[int, float] = {}

    def is_whole(self, trial: int, amount: float) -> bool:
        """True after ``whole`` seconds, or after the last epoch if that is earlier."""
        return amount >= self.whole or self.last(trial) == self.epochs

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        self._seconds[trial] = self._seconds.get(trial, 0.0) + seconds
        return self._seconds[trial]


@final
class Seeds(Spending):
    """Seeds that are trained to the end. The epochs of a trial restart at 1 with each group of seeds.

    ``groups``: the cumulative numbers of seeds after each group of a trial, ascending; the last is ``whole``.
    """

    resource = "seeds"

    def __init__(self, epochs: int, whole: int, groups: Callable[[int], Sequence[int]]) -> None:
        super().__init__(epochs, whole)
        self._groups = groups
        self._seeds: dict[int, int] = {}

    def is_whole(self, trial: int, amount: float) -> bool:
        """True after the last epoch of the last seeds."""
        return amount == self.whole

    def group(self, trial: int) -> range:
        """The seeds that the trial trains next, up to its next rung; empty for a whole trial."""
        seeds = self._seeds.get(trial, 0)
        return range(seeds, next((group for group in self._groups(trial) if group > seeds), seeds))

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        if epoch == self.epochs:
            self._seeds[trial] = self.group(trial).stop
            self._last[trial] = 0
        return self._seeds.get(trial, 0)


class Scheduler(ABC):
    """Decides after each epoch whether a trial goes on, and which paused trial is promoted.

    ``maximum``: the epochs of a whole trial, unless ``spending`` counts another resource. ``spared``: trials that are
    never stopped by comparison, such as the base from which differences are measured; their scores count as any other.
    A score that is NaN or infinite stops any trial at once; the last report of a whole trial completes it.
    """

    def __init__(self, maximum: int, spared: frozenset[int] = frozenset(), spending: Spending | None = None) -> None:
        self.spending: Final = Epochs(maximum) if spending is None else spending
        self.spared: Final = set(spared)
        self._further: dict[int, Vector] = {}
        self._over: set[int] = set()
        self._paused: set[int] = set()

    @property
    def maximum(self) -> int:
        """The epochs of a whole trial."""
        return self.spending.epochs

    @final
    def spare(self, trial: int) -> None:
        """Never stop ``trial`` by comparison from now on."""
        self.spared.add(trial)

    @final
    def weigh(self, trial: int, further: Vector) -> None:
        """Set the values of ``trial`` in the objectives after the score, the larger the better; called before its
        report.
        """
        self._further[trial] = further

    @final
    def report(self, trial: int, epoch: int, score: float, seconds: float = 0.0) -> Decision:
        """Decide on ``trial`` after ``epoch``, which took ``seconds``; a higher ``score`` is better.

        Epochs count from 1. Raises ValueError if the trial's epochs do not ascend 1, 2, 3, ... (also if a report
        arrives twice), if the trial is paused, or if it has ended.
        """
        if trial in self._over or trial in self._paused:
            state = "ended" if trial in self._over else "was paused"
            raise ValueError(
                f"trial {trial} reports epoch {epoch}, but it {state} at epoch {self.spending.last(trial)}"
            )
        amount = self.spending.report(trial, epoch, seconds)
        decision = self._answer(trial, amount, score)
        if decision.action == "pause":
            self._paused.add(trial)
        elif decision.action != "continue":
            self._over.add(trial)
        return decision

    def _answer(self, trial: int, amount: float, score: float) -> Decision:
        if not math.isfinite(score):
            self._lost(trial)
            return Decision("stop", diverged=True)
        if self.spending.is_whole(trial, amount):
            self._completed(trial, amount, score)
            return Decision("complete")
        decision = self._decide(trial, amount, score)
        return replace(decision, action="continue") if trial in self.spared else decision

    def promotable(self, trials: int | None = None) -> int | None:
        """The next paused trial to promote; None if there is none. Changes nothing.

        ``trials``: the number of trials, if it is known that no further one comes.
        """
        return None

    def beaten(self) -> tuple[int, ...]:
        """Paused trials that no future report can promote, ascending; they can be ended. Changes nothing."""
        return ()

    @final
    def ahead(self, trial: int) -> tuple[Ahead, ...]:
        """The comparison at each rung ahead of a trial, as the results stand now; none for a spared trial, for one that
        has ended, and without rungs. For a single objective.
        """
        return () if trial in self.spared or trial in self._over else self._ahead(trial)

    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        return ()

    @final
    def promoted(self, trial: int) -> None:
        """Note that a paused trial goes on. Raises ValueError if it is not paused."""
        if trial not in self._paused:
            raise ValueError(f"trial {trial} goes on, but it is not paused")
        self._paused.remove(trial)
        self._promote(trial)

    @final
    def ended(self, trial: int) -> None:
        """Note that a trial ended, also by an error or because nothing promotes it."""
        if trial not in self._over:
            self._over.add(trial)
            self._paused.discard(trial)
            self._lost(trial)

    @property
    @abstractmethod
    def rungs(self) -> tuple[int, ...]:
        """The levels below a whole trial at which trials are compared, ascending, in the resource; may be empty."""

    @property
    @abstractmethod
    def earliest(self) -> int:
        """The first epoch after which a trial can be stopped without diverging; ``maximum`` if none can."""

    @abstractmethod
    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        """Decide on a finite score of a trial that has spent ``amount``, less than a whole trial."""

    def _completed(self, trial: int, amount: float, score: float) -> None:  # noqa: B027 (most schedulers need none)
        """Note that a trial has completed."""

    def _promote(self, trial: int) -> None:  # noqa: B027
        """Note that a paused trial goes on."""

    def _lost(self, trial: int) -> None:  # noqa: B027
        """Note that a trial ended before it was complete, without a decision of ``_decide``."""


@final
class NeverStop(Scheduler):
    """Every trial runs all its epochs, unless it diverges."""

    @property
    def rungs(self) -> tuple[int, ...]:
        """None."""
        return ()

    @property
    def earliest(self) -> int:
        """The last epoch: no trial is stopped before it."""
        return self.maximum

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        return Decision("continue")
