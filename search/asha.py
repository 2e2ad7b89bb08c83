"""Asynchronous successive halving as a state machine: reports in, decisions out, no clock.

Replaying a ledger's reports in order into a fresh scheduler rebuilds its state and its decisions.
"""

import math
from abc import ABC, abstractmethod
from bisect import insort
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Final, Literal, final

from search.config import AshaConfig


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
        self.spared: Final = spared
        self._epochs: dict[int, int] = {}
        self._over: set[int] = set()

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
        decision = self._decide(epoch, score)
        return replace(decision, action="continue") if trial in self.spared else decision

    @abstractmethod
    def _decide(self, epoch: int, score: float) -> Decision:
        """Decide on a finite score before the last epoch."""


@final
class NeverStop(Scheduler):
    """Every trial runs all its epochs, unless it diverges."""

    def _decide(self, epoch: int, score: float) -> Decision:
        return Decision("continue")


@final
class Asha(Scheduler):
    """Asynchronous successive halving, stopping variant, one bracket.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2,
    in the stopping form that Ray Tune 2.60 calls ``AsyncHyperBandScheduler``. Rung k stands at epoch

        grace * reduction**k < maximum,    k = 0, 1, ...

    A trial at a rung goes on where its score is at least the (1 - 1/reduction) quantile of the
    scores that other trials left there before it, and where it is the first. Its own score is left
    there either way. The quantile of n sorted scores s_0 <= ... <= s_{n-1} is interpolated
    linearly at index (n - 1) * (1 - 1/reduction).

    We depart from Ray where it rounds: rungs and the index are whole-number arithmetic here, so a
    score that equals the cutoff always goes on. A diverged score enters no rung (Ray never stops NaN).
    """

    def __init__(self, config: AshaConfig, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        super().__init__(maximum, spared)
        self._reduction = config.reduction
        self._rungs: dict[int, list[float]] = {epoch: [] for epoch in rungs(config, maximum)}

    def _decide(self, epoch: int, score: float) -> Decision:
        if epoch not in self._rungs:
            return Decision("continue")
        recorded = self._rungs[epoch]
        below = bool(recorded) and score < _cutoff(recorded, self._reduction)
        insort(recorded, score)
        return Decision("stop" if below else "continue", rung=epoch)


def scheduler(config: AshaConfig | None, maximum: int, spared: frozenset[int] = frozenset()) -> Scheduler:
    """The scheduler of a study: ``Asha``, or ``NeverStop`` where there is no config."""
    return NeverStop(maximum, spared) if config is None else Asha(config, maximum, spared)


def rungs(config: AshaConfig, maximum: int) -> tuple[int, ...]:
    """The epochs of the rungs below ``maximum``, ascending; none where the grace period is as long."""
    epochs = (config.grace * config.reduction**k for k in count())
    return tuple(takewhile(lambda epoch: epoch < maximum, epochs))


def _cutoff(recorded: list[float], reduction: int) -> float:
    """The (1 - 1/reduction) quantile of sorted scores, interpolated linearly."""
    below, rest = divmod((len(recorded) - 1) * (reduction - 1), reduction)
    if rest == 0:
        return recorded[below]
    low, high = recorded[below : below + 2]
    return low + (high - low) * rest / reduction
