"""Counts the resource that trials have spent, in which rungs are counted: epochs, seconds or seeds.

Only reports are counted, so a replay of the ledger gives the same numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, final

from skipstack.search.strategy.schedulers.config import Resource


class Spending(ABC):
    """Counts a resource by trial. ``epochs``: the epochs of a trial; ``whole``: the resource of a whole trial."""

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
        """Count an epoch in."""


@final
class Epochs(Spending):
    """Epochs, as they are reported."""

    resource = "epochs"

    def __init__(self, epochs: int) -> None:
        super().__init__(epochs, epochs)

    def is_whole(self, trial: int, amount: float) -> bool:
        """After the last epoch."""
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
        """After ``whole`` seconds, or after the last epoch if that is earlier."""
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
        """After the last epoch of the last seeds."""
        return amount == self.whole

    def group(self, trial: int) -> range:
        """The seeds from those it has to those of its next rung; empty for a whole trial."""
        seeds = self._seeds.get(trial, 0)
        return range(seeds, next((group for group in self._groups(trial) if group > seeds), seeds))

    def _spent(self, trial: int, epoch: int, seconds: float) -> float:
        if epoch == self.epochs:
            self._seeds[trial] = self.group(trial).stop
            self._last[trial] = 0
        return self._seeds.get(trial, 0)
