"""The interface of schedulers, which decide whether a trial continues. Also counters of the resource that trials spend,
and the scheduler that stops nothing.

A scheduler is a state machine: its decisions follow from the reports alone, without a clock or randomness. Replaying
the reports, promotions and ends of trials from a ledger in order rebuilds its state and its decisions.
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
    """The decision on a trial after one of its reports.

    ``action``: with ``pause``, the trial keeps its checkpoint, frees its worker, and continues only if it is promoted
    later. With ``complete``, it has run to its end. ``rung``: the level of the highest rung that the report reached, in
    the scheduler's resource; None if it reached no rung, or if the trial is complete or diverged. ``diverged``: whether
    the trial stops because its score is not finite.
    """

    action: Literal["continue", "pause", "stop", "complete"]
    rung: int | None = None
    diverged: bool = False


@dataclass(frozen=True, slots=True)
class Ahead:
    """A comparison that a trial has yet to pass. ``rung``: the level of the comparison. ``results``: the number of
    trials that have reached the level. ``needed``: the score with which the trial would continue if it reached the rung
    now. None means that there is no threshold yet. ``above``: whether the score must exceed ``needed``; if not,
    equality is enough.
    """

    rung: int
    results: int
    needed: float | None
    above: bool = False


class Spending(ABC):
    """Counts how much of the resource each trial has spent. Only reports count, so a replay of the ledger gives the
    same amounts.

    ``epochs``: the number of epochs of a trial (in ``Seeds``, of each group of its seeds). ``whole``: the resource of a
    trial that completes.
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
        """Count ``epoch``, which took ``seconds``, and return the amount that ``trial`` has spent so far. Raises
        ValueError if ``epoch`` is not the next epoch of the trial, or is above ``epochs``.
        """
        last = self.last(trial)
        if epoch != last + 1 or epoch > self.epochs:
            raise ValueError(f"trial {trial} reports epoch {epoch} after epoch {last} of {self.epochs}")
        self._last[trial] = epoch
        return self._spent(trial, epoch, seconds)

    def last(self, trial: int) -> int:
        """The last epoch that ``trial`` reported; 0 before the first."""
        return self._last.get(trial, 0)

    def group(self, trial: int) -> range | None:
        """The indices of the seeds that the trial trains now or next. None if the resource is not seeds."""
        return None

    def share(self, trial: int) -> Fraction:
        """The work of the trial's next epoch, as a fraction of the work of an epoch of all seeds."""
        group = self.group(trial)
        return Fraction(1) if group is None else Fraction(len(group), self.whole)

    @abstractmethod
    def is_whole(self, trial: int, amount: float) -> bool:
        """Whether ``trial`` has completed after spending ``amount``."""

    @abstractmethod
    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        """Count an epoch, and return the amount that the trial has spent so far."""


@final
class Epochs(Spending):
    """Counts the epochs that a trial has reported."""

    resource = "epochs"

    def __init__(self, epochs: int) -> None:
        super().__init__(epochs, epochs)

    def is_whole(self, trial: int, amount: float) -> bool:
        """Whether ``trial`` has reported its last epoch."""
        return amount == self.epochs

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        return epoch


@final
class Seconds(Spending):
    """Counts the seconds of training and evaluation over a trial's epochs, without waiting, loading and pauses."""

    resource = "seconds"

    def __init__(self, epochs: int, whole: int) -> None:
        super().__init__(epochs, whole)
        self._seconds: dict[int, float] = {}

    def is_whole(self, trial: int, amount: float) -> bool:
        """Whether ``trial`` has spent ``whole`` seconds, or has reported its last epoch."""
        return amount >= self.whole or self.last(trial) == self.epochs

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        self._seconds[trial] = self._seconds.get(trial, 0.0) + seconds
        return self._seconds[trial]


@final
class Seeds(Spending):
    """Counts the seeds that a trial has trained to the last epoch. A trial trains groups of seeds one after another.
    Its epochs restart at 1 with each group.

    ``whole``: the number of seeds of a trial. ``groups``: maps a trial's number to the number of trained seeds after
    each of its groups, ascending up to ``whole``.
    """

    resource = "seeds"

    def __init__(self, epochs: int, whole: int, groups: Callable[[int], Sequence[int]]) -> None:
        super().__init__(epochs, whole)
        self._groups = groups
        self._seeds: dict[int, int] = {}

    def is_whole(self, trial: int, amount: float) -> bool:
        """Whether ``trial`` has trained all its seeds to the last epoch."""
        return amount == self.whole

    def group(self, trial: int) -> range:
        """The indices of the seeds that the trial trains now or next, up to its next rung; empty if all are trained."""
        seeds = self._seeds.get(trial, 0)
        return range(seeds, next((group for group in self._groups(trial) if group > seeds), seeds))

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        if epoch == self.epochs:
            self._seeds[trial] = self.group(trial).stop
            self._last[trial] = 0
        return self._seeds.get(trial, 0)


class Scheduler(ABC):
    """Decides after each epoch whether a trial continues, and which paused trial is promoted. A score that is NaN or
    infinite stops any trial.

    ``maximum``: the epochs of a trial that completes. ``spared``: trials that are never stopped by a comparison, such
    as the base config from which differences are measured. Other trials are still compared with spared trials.
    ``spending``: counts the resource of trials; None means that epochs are counted.
    """

    def __init__(self, maximum: int, spared: frozenset[int] = frozenset(), spending: Spending | None = None) -> None:
        self.spending: Final = Epochs(maximum) if spending is None else spending
        self.spared: Final = set(spared)
        self._further: dict[int, Vector] = {}
        self._over: set[int] = set()
        self._paused: set[int] = set()

    @property
    def maximum(self) -> int:
        """The number of epochs of a trial that completes."""
        return self.spending.epochs

    @final
    def spare(self, trial: int) -> None:
        """Exempt ``trial`` from being stopped by comparisons from now on."""
        self.spared.add(trial)

    @final
    def weigh(self, trial: int, further: Vector) -> None:
        """Set the values (larger is better) of ``trial`` in the objectives other than the score. Call this before
        ``report``.
        """
        self._further[trial] = further

    @final
    def report(self, trial: int, epoch: int, score: float, seconds: float = 0.0) -> Decision:
        """Decide on ``trial`` after ``epoch``, which took ``seconds``; a higher ``score`` is better.

        Epochs count from 1, again for each group of seeds. Raises ValueError if an epoch is repeated or left out, or if
        the trial is paused or has ended.
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
        """The next paused trial to promote; None if there is none. Does not change the scheduler.

        ``trials``: the total number of trials, if no further trial will start; None if further trials may start.
        """
        return None

    def beaten(self) -> tuple[int, ...]:
        """The paused trials that can never be promoted, ascending; the caller can end them. Changes no state."""
        return ()

    @final
    def ahead(self, trial: int) -> tuple[Ahead, ...]:
        """The comparisons that a trial has yet to pass, with the scores that the trial would need now. Empty for a
        spared or ended trial, and for a scheduler that compares nothing. Use this with a single objective only.
        """
        return () if trial in self.spared or trial in self._over else self._ahead(trial)

    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        return ()

    @final
    def promoted(self, trial: int) -> None:
        """Record that a paused trial continues. Raises ValueError if it is not paused."""
        if trial not in self._paused:
            raise ValueError(f"trial {trial} goes on, but it is not paused")
        self._paused.remove(trial)
        self._promote(trial)

    @final
    def ended(self, trial: int) -> None:
        """Record that a trial ended, for example by an error. Does nothing if a decision ended it already."""
        if trial not in self._over:
            self._over.add(trial)
            self._paused.discard(trial)
            self._lost(trial)

    @property
    def rungs(self) -> tuple[int, ...]:
        """The amounts of the resource at which trials are compared, ascending. A complete trial spends more. By
        default there are none.
        """
        return ()

    @property
    def earliest(self) -> int:
        """The first epoch after which a comparison can stop a trial; ``maximum`` if no comparison can. By default it is
        the first.
        """
        return 1

    @abstractmethod
    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        """Decide on a trial that has spent ``amount`` and has not completed. ``score`` is finite."""

    def _completed(self, trial: int, amount: float, score: float) -> None:  # noqa: B027 (most schedulers need none)
        """Record that a trial has completed."""

    def _promote(self, trial: int) -> None:  # noqa: B027
        """Record that a paused trial continues."""

    def _lost(self, trial: int) -> None:  # noqa: B027
        """Record that a trial ended before it was complete, without a decision of ``_decide``."""


@final
class NeverStop(Scheduler):
    """Lets every trial run all its epochs, unless it diverges."""

    @property
    def earliest(self) -> int:
        """The last epoch: no trial is stopped before it."""
        return self.maximum

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        return Decision("continue")
