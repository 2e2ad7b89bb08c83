"""Schedulers: whether a trial goes on. The interface, and the one that stops nothing.

A scheduler is a state machine: reports in, decisions out, no clock, no chance. Replaying a ledger's reports in order
into a fresh one rebuilds its state and its decisions.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Final, Literal, final

from search.pareto import Vector


@dataclass(frozen=True, slots=True)
class Decision:
    """What a trial does after a report.

    ``rung`` is the rung's epoch where the report stood at one. ``diverged`` says that it stops
    because its score is no finite number.
    """

    action: Literal["continue", "stop", "complete"]
    rung: int | None = None
    diverged: bool = False


class Scheduler(ABC):
    """Says after each epoch of each trial whether it goes on.

    ``maximum``: the epochs of a whole trial. ``spared``: trials that go on whatever the others
    reach, such as the base from which differences are measured; their scores count like any other.
    A score that is NaN or infinite stops any trial at once; a report at ``maximum`` completes it.
    """

    def __init__(self, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        assert maximum >= 1
        self.maximum: Final = maximum
        self._spared = set(spared)
        self._further: dict[int, Vector] = {}
        self._epochs: dict[int, int] = {}
        self._over: set[int] = set()

    @final
    def spare(self, trial: int) -> None:
        """``trial`` goes on whatever the others reach."""
        self._spared.add(trial)

    @final
    def weigh(self, trial: int, further: Vector) -> None:
        """What ``trial`` reaches in the objectives beside the score, larger being better; told before its report."""
        self._further[trial] = further

    @final
    def report(self, trial: int, epoch: int, score: float) -> Decision:
        """Decide on ``trial`` after ``epoch``, counted from 1; a higher ``score`` is better.

        Raises ValueError where the epochs of the trial do not ascend 1, 2, 3, ... (a report that
        arrives twice included) or the trial was told to stop or complete before.
        """
        before = self._epochs.get(trial, 0)
        if trial in self._over:
            raise ValueError(f"trial {trial} reports epoch {epoch}, but it ended at epoch {before}")
        if epoch != before + 1 or epoch > self.maximum:
            raise ValueError(f"trial {trial} reports epoch {epoch} after epoch {before} of {self.maximum}")
        self._epochs[trial] = epoch
        decision = self._answer(trial, epoch, score)
        if decision.action != "continue":
            self._over.add(trial)
        return decision

    def _answer(self, trial: int, epoch: int, score: float) -> Decision:
        if not math.isfinite(score):
            return Decision("stop", diverged=True)
        if epoch == self.maximum:
            return Decision("complete")
        decision = self._decide(trial, epoch, score)
        return replace(decision, action="continue") if trial in self._spared else decision

    @property
    @abstractmethod
    def rungs(self) -> tuple[int, ...]:
        """The epochs before the last at which trials are compared once and for all, ascending; maybe none."""

    @property
    @abstractmethod
    def earliest(self) -> int:
        """The first epoch after which a trial may be stopped without having diverged; ``maximum`` where none is."""

    @abstractmethod
    def _decide(self, trial: int, epoch: int, score: float) -> Decision:
        """Decide on a finite score before the last epoch."""


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

    def _decide(self, trial: int, epoch: int, score: float) -> Decision:
        return Decision("continue")
