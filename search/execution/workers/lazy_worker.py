"""A worker class that imports torch only on construction, for processes that never train."""

from typing import final

from skipstack.data.basis.loading import uncollected
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker


@final
class LazyTrainingWorker(Worker):
    """Imports torch on construction and returns a ``TrainingWorker``. A driver that only refers to this class does not
    load torch, which takes 200 MB.
    """

    def __new__(cls, task: TrialTask) -> Worker:  # type: ignore[misc]
        """A ``TrainingWorker`` for ``task``."""
        with uncollected():
            from skipstack.search.execution.workers.worker import TrainingWorker

        return TrainingWorker(task)

    def run_epoch(self) -> EpochResult:
        """Never called: this class has no instances."""
        raise NotImplementedError

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        """Measure as a ``TrainingWorker`` does."""
        from skipstack.search.execution.workers.worker import TrainingWorker

        return TrainingWorker.test(task)
