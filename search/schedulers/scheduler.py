"""Schedulers: whether a trial goes on. The interface, and the one that stops nothing.

A scheduler is a state machine: reports in, decisions out, no clock, no chance. Replaying in order what a ledger says of
reports, promotions and ends into a fresh one rebuilds its state and its decisions.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Final, Literal, final

from skipstack.search.objectives.pareto import Vector
from skipstack.search.schedulers.spending import Epochs, Spending


@dataclass(frozen=True, slots=True)
class Decision:
    """What a trial does after a report.

    ``pause``: it keeps its checkpoint and frees its worker until it is promoted, if ever. ``rung`` is what the rung
    stands at, in the scheduler's resource, where the report stood at one. ``diverged`` says that it stops because its
    score is no finite number.
    """

    action: Literal["continue", "pause", "stop", "complete"]
    rung: int | None = None
    diverged: bool = False


class Scheduler(ABC):
    """Says after each epoch of each trial whether it goes on, and which paused trial does.

    ``maximum``: the epochs of a whole trial, unless ``spending`` counts another resource. ``spared``: trials that go on
    whatever the others reach, such as the base from which differences are measured; their scores count like any other.
    A score that is NaN or infinite stops any trial at once; a report of a whole trial completes it.
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
        """``trial`` goes on whatever the others reach."""
        self.spared.add(trial)

    @final
    def weigh(self, trial: int, further: Vector) -> None:
        """What ``trial`` reaches in the objectives beside the score, larger being better; given before its report."""
        self._further[trial] = further

    @final
    def report(self, trial: int, epoch: int, score: float, seconds: float = 0.0) -> Decision:
        """Decide on ``trial`` after ``epoch``, which took ``seconds``; a higher ``score`` is better.

        Epochs count from 1. Raises ValueError where those of the trial do not ascend 1, 2, 3, ... (a report that
        arrives twice included), the trial is paused, or it ended before.
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
        """The paused trial that goes on before any other; None where none does. Changes nothing.

        ``trials``: how many trials there are, where it is known that no further one comes.
        """
        return None

    def beaten(self) -> tuple[int, ...]:
        """Paused trials that no report to come will promote, ascending: they may as well end. Changes nothing."""
        return ()

    @final
    def promoted(self, trial: int) -> None:
        """A paused trial goes on. Raises ValueError where it is not paused."""
        if trial not in self._paused:
            raise ValueError(f"trial {trial} goes on, but it is not paused")
        self._paused.remove(trial)
        self._promote(trial)

    @final
    def ended(self, trial: int) -> None:
        """A trial is over, whoever ended it: this scheduler (then it knows), an error, or that nothing promotes it."""
        if trial not in self._over:
            self._over.add(trial)
            self._paused.discard(trial)
            self._lost(trial)

    @property
    @abstractmethod
    def rungs(self) -> tuple[int, ...]:
        """Where, below a whole trial, trials are compared once and for all, ascending, in the resource; maybe none."""

    @property
    @abstractmethod
    def earliest(self) -> int:
        """The first epoch after which a trial may be stopped without having diverged; ``maximum`` where none is."""

    @abstractmethod
    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        """Decide on a finite score of a trial that has spent ``amount``, less than a whole one."""

    def _completed(self, trial: int, amount: float, score: float) -> None:  # noqa: B027 (most schedulers need none)
        """A trial is whole."""

    def _promote(self, trial: int) -> None:  # noqa: B027
        """A paused trial goes on."""

    def _lost(self, trial: int) -> None:  # noqa: B027
        """A trial ended that was not whole, and was not stopped by ``_decide``."""


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
