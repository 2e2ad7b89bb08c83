"""Median stopping: a trial stops if its best score is below the median of the other trials' mean scores."""

from bisect import insort
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import final

from skipstack.search.strategy.schedulers.config import MedianConfig
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision, Scheduler


@dataclass(slots=True)
class _Curve:
    """A summary of a trial's scores so far. ``best``: the highest score. ``total``: the sum over its epochs."""

    best: float
    total: float


@final
class Median(Scheduler):
    """Stops a trial if its best score is below the median of the other trials' mean scores.

    Source: Golovin et al., "Google Vizier" (2017), section 3.2.2. After epoch e >= ``grace``, trial i stops if

        max(s_i1, ..., s_ie) < median over j of (s_j1 + ... + s_je) / e

    where s_je is the score of trial j at epoch e, and j runs over the trials that reported epoch e before i did. Trial
    i is compared only if there are at least ``minimum_trials`` such j. The median of an even number of values is the
    mean of the two in the middle.

    Departure: Vizier compares with completed trials only, so that the first trials would all run to the end. Here
    running and stopped trials count as well.
    """

    def __init__(self, config: MedianConfig, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        super().__init__(maximum, spared)
        self._config = config
        self._curves: dict[int, _Curve] = {}
        self._means: defaultdict[int, list[float]] = defaultdict(list)

    @property
    def earliest(self) -> int:
        """The first epoch after which trials are compared: ``grace``, at most ``maximum``."""
        return min(self._config.grace, self.maximum)

    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        """The comparisons at the epochs that the trial has not reported, from ``grace`` to the last epoch but one."""
        first = max(self.earliest, self.spending.last(trial) + 1)
        return tuple(self._epoch_ahead(epoch) for epoch in range(first, self.maximum))

    def _epoch_ahead(self, epoch: int) -> Ahead:
        means = self._means.get(epoch, [])
        return Ahead(epoch, len(means), median(means) if len(means) >= self._config.minimum_trials else None)

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        epoch = self.spending.last(trial)
        curve = self._curves.setdefault(trial, _Curve(score, 0.0))
        curve.best = max(curve.best, score)
        curve.total += score
        others = self._means[epoch]
        judged = epoch >= self._config.grace and len(others) >= self._config.minimum_trials
        below = judged and curve.best < median(others)
        insort(others, curve.total / epoch)
        return Decision("stop" if below else "continue")
