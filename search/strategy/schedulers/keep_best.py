"""A baseline for other schedulers: all trials train one epoch, then only the best go on."""

from typing import final

from skipstack.search.strategy.schedulers.config import KeepBestConfig
from skipstack.search.strategy.schedulers.halving import Arrivals
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision, Scheduler


@final
class KeepBest(Scheduler):
    """Trains all trials for one epoch, then only the ``keep`` best of them.

    The ``keep`` best are known only once all trials have reported their first epoch, so each trial is judged again
    after every epoch: it goes on while fewer than ``keep`` trials have a better first epoch, and stops otherwise. Of
    trials with equal scores, the first to report is better. In the end exactly the ``keep`` best are left. The more
    trials run in parallel, the fewer epochs are spent on the others. A trial that diverges after its first epoch still
    counts in this comparison.
    """

    def __init__(self, config: KeepBestConfig, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        super().__init__(maximum, spared)
        self._keep = config.keep
        self._first_epoch = Arrivals()

    @property
    def rungs(self) -> tuple[int, ...]:
        """The first epoch, where trials are compared; empty if trials have a single epoch."""
        return (1,) if self.maximum > 1 else ()

    @property
    def earliest(self) -> int:
        """The first epoch: a trial can be stopped after it."""
        return 1

    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        return () if self.spending.last(trial) else tuple(self._first_epoch.ahead(1, self._keep) for _ in self.rungs)

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        epoch = self.spending.last(trial)
        if epoch == 1:
            self._first_epoch.enter(trial, score)
        kept = trial in self._first_epoch.best(self._keep)
        return Decision("continue" if kept else "stop", rung=1 if epoch == 1 else None)
