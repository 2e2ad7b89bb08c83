"""An attempt at a trial and its worker, which is replaced by a new one after a brief failure of a disk."""

from collections.abc import Sequence
from dataclasses import replace

from skipstack.data.basis.disk_errors import tried_again
from skipstack.search.execution.driver.faults import lost_disk_interrupts
from skipstack.search.study.task import EpochResult, TrialTask, Worker, Workers


class Attempt:
    """An attempt at ``task`` in the process that trains it; the worker is created when the first epoch is requested."""

    def __init__(self, workers: Workers, task: TrialTask) -> None:
        self._workers = workers
        self._task = task
        self._worker: Worker | None = None

    @property
    def reported(self) -> int:
        """Number of epochs of the trial's seeds in the ledger, once all that this attempt returned are reported."""
        return self._task.reported

    @property
    def number(self) -> int:
        """The trial's number."""
        return self._task.number

    def begin(self) -> None:
        """Create the worker before its first epoch, so that other workers of this process know of it. Raises as
        ``run_epoch`` does.
        """
        with lost_disk_interrupts(f"trial {self._task.number}"):
            tried_again(self._made)

    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch and return the worker's result.

        If a disk fails, a new worker continues from what the trial has saved. Raises OutOfSpaceError for a full disk,
        DiskLostError for a disk that still fails, and any other error of the worker.
        """
        with lost_disk_interrupts(f"trial {self._task.number}"):
            result = tried_again(self._epoch)
        if result is not None:
            left = self._task.time_left
            self._task = replace(
                self._task,
                reported=self._task.reported + 1,
                time_left=None if left is None else left - result.seconds,
            )
        return result

    def close(self) -> None:
        """Release the worker and its memory."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _made(self) -> Worker:
        if self._worker is None:
            self._worker = self._workers(self._task)
        return self._worker

    def _epoch(self) -> EpochResult | None:
        try:
            return self._made().run_epoch()
        except BaseException:
            self.close()
            raise


def least_advanced(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts with the fewest epochs. Where attempts take turns in one process, these train first, so that they
    catch up with the others, and train together with them if their workers do so.
    """
    least = min((each.reported for each in attempts), default=0)
    return [each for each in attempts if each.reported == least]
