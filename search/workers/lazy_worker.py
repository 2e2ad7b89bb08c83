"""The worker that trains, for processes that never train: it loads the networks where it is made."""

from typing import final

from skipstack.data.basis.loading import uncollected
from skipstack.search.driver.task import EpochResult, Measured, TrialTask, Worker


@final
class LazyTrainingWorker(Worker):
    """Made, it is a ``TrainingWorker``. A driver that only names it need not load torch, which takes 200 MB."""

    def __new__(cls, task: TrialTask) -> Worker:  # type: ignore[misc]
        """A ``TrainingWorker`` for ``task``."""
        with uncollected():
            from skipstack.search.workers.worker import TrainingWorker

        return TrainingWorker(task)

    def run_epoch(self) -> EpochResult:
        """Never called: nothing is of this class."""
        raise NotImplementedError

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        """What a ``TrainingWorker`` tests."""
        from skipstack.search.workers.worker import TrainingWorker

        return TrainingWorker.test(task)
