"""A baseline for other schedulers: only the trials with the best scores at the first epoch continue."""

from typing import final

from skipstack.search.strategy.schedulers.config import KeepBestConfig
from skipstack.search.strategy.schedulers.halving import Arrivals
from skipstack.search.strategy.schedulers.scheduler import Ahead, Decision, Scheduler


@final
class KeepBest(Scheduler):
    """Stops a trial once the scores of ``keep`` other trials at the first epoch are better than its own.

    The ``keep`` best are known only when all trials have reported their first epoch, so after every epoch of a trial
    its first epoch is compared again. Of trials with equal scores, the first to report is better. More parallel trials
    mean fewer epochs spent on trials outside the ``keep`` best. A trial that completes before better ones report stays
    complete. A trial that diverges after its first epoch still counts in the comparison.
    """

    def __init__(self, config: KeepBestConfig, maximum: int, spared: frozenset[int] = frozenset()) -> None:
        super().__init__(maximum, spared)
        self._keep = config.keep
        self._first_epoch = Arrivals()

    @property
    def rungs(self) -> tuple[int, ...]:
        """The first epoch, where trials are compared; empty if trials have a single epoch."""
        return (1,) if self.maximum > 1 else ()

    def _ahead(self, trial: int) -> tuple[Ahead, ...]:
        return () if self.spending.last(trial) else tuple(self._first_epoch.ahead(1, self._keep) for _ in self.rungs)

    def _decide(self, trial: int, amount: float, score: float) -> Decision:
        epoch = self.spending.last(trial)
        if epoch == 1:
            self._first_epoch.enter(trial, score)
        kept = trial in self._first_epoch.best(self._keep)
        return Decision("continue" if kept else "stop", rung=1 if epoch == 1 else None)
