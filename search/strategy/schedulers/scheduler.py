"""The interface of schedulers, which decide whether a trial goes on, and the scheduler that stops nothing.

A scheduler is a state machine from reports to decisions, without clock or randomness. Replaying the reports, promotions
and ends of a ledger in order rebuilds its state and its decisions.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Final, Literal, final

from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.schedulers.spending import Epochs, Spending


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
        """From now on, never stop ``trial`` by comparison."""
        self.spared.add(trial)

    @final
    def weigh(self, trial: int, further: Vector) -> None:
        """Set the values of ``trial`` in the objectives after the score, larger being better; before its report."""
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
        """What a trial meets at each rung ahead of it, as the results stand now. None for a spared trial, one that has
        ended, and without rungs. For a single objective.
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
        """A trial has completed."""

    def _promote(self, trial: int) -> None:  # noqa: B027
        """A paused trial goes on."""

    def _lost(self, trial: int) -> None:  # noqa: B027
        """A trial ended before it was complete, without a decision of ``_decide``."""


@final
class NeverStop(Scheduler):
    """Every trial runs all its epochs, unless it diverges."""

    @property
    def rungs(self) -> tuple[int, ...]:
        """None."""
        return ()

    @property
    def earliest(self) -> int:
        """No trial is stopped before the last."""
        return self.maximum

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        return Decision("continue")
