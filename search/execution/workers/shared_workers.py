"""Workers of one process that train their trials together where they fit."""

from functools import cached_property
from typing import TYPE_CHECKING, final

from skipstack.data.basis.loading import uncollected
from skipstack.search.execution.workers.lazy_worker import LazyTrainingWorker
from skipstack.search.study.task import Measured, TrialTask, Worker, Workers

if TYPE_CHECKING:
    from skipstack.models.training.together import Together


@final
class SharedTrainingWorkers(Workers):
    """Creates workers that train as ``TrainingWorker`` does, the trials that fit together as lanes of one program
    (``models/training/together.py``). Imports torch with the first.
    """

    def __call__(self, task: TrialTask) -> Worker:
        """A worker among the others."""
        with uncollected():
            from skipstack.search.execution.workers.worker import TrainingWorker

        return TrainingWorker(task, self._together)

    def test(self, task: TrialTask) -> Measured:
        """Measure as a ``TrainingWorker`` does."""
        return LazyTrainingWorker.test(task)

    @cached_property
    def _together(self) -> "Together":
        from skipstack.models.training.together import Together

        return Together()
