"""Creates the workers that train networks, in processes that load torch only then."""

from functools import cached_property
from typing import TYPE_CHECKING, final

from skipstack.data.basis.loading import uncollected
from skipstack.search.study.task import Measured, TrialTask, Worker, Workers

if TYPE_CHECKING:
    from skipstack.models.training.together import Together


@final
class TrainingWorkers(Workers):
    """Creates a ``TrainingWorker`` for each trial. A driver, which only refers to this, loads no torch (200 MB).

    ``shared``: trials of this process that fit together train as lanes of one program
    (``models/training/together.py``).
    """

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared

    def __call__(self, task: TrialTask) -> Worker:
        """A worker for a trial."""
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
