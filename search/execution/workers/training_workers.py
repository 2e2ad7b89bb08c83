"""Creates the workers that train networks. torch is imported only when a worker is created."""

from functools import cached_property
from typing import TYPE_CHECKING, final

from skipstack.data.basis.collection import uncollected
from skipstack.search.study.task import Measured, TrialTask, Worker, Workers

if TYPE_CHECKING:
    from skipstack.models.training.together import Together


@final
class TrainingWorkers(Workers):
    """Creates a ``TrainingWorker`` for each trial. A process that creates no worker, like the driver's, does not load
    torch (200 MB). ``shared``: whether trials of this process train together as one batched program, if they can
    (``models/training/together.py``).
    """

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared

    def __call__(self, task: TrialTask) -> Worker:
        """Create a worker for a trial."""
        with uncollected():
            from skipstack.search.execution.workers.worker import TrainingWorker

        return TrainingWorker(task, self._together if self._shared else None)

    def test(self, task: TrialTask) -> Measured:
        """Measure the trial's best weights on the test split."""
        from skipstack.search.execution.workers.worker import TrainingWorker

        return TrainingWorker.test(task)

    @cached_property
    def _together(self) -> "Together":
        from skipstack.models.training.together import Together

        return Together()
