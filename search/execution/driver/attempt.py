"""Attempts at a trial. An attempt creates the trial's worker, and replaces it after a transient disk error."""

from collections.abc import Sequence
from dataclasses import replace

from skipstack.data.basis.disk_errors import tried_again
from skipstack.search.execution.driver.faults import lost_disk_interrupts
from skipstack.search.study.task import EpochResult, TrialTask, Worker, Workers


class Attempt:
    """An attempt at the trial ``task``. The worker is created by ``begin``, or by the first ``run_epoch``."""

    def __init__(self, workers: Workers, task: TrialTask) -> None:
        self._workers = workers
        self._task = task
        self._worker: Worker | None = None

    @property
    def reported(self) -> int:
        """The number of epochs that the ledger has of the task's seeds, plus those that this attempt has returned."""
        return self._task.reported

    @property
    def number(self) -> int:
        """The trial's number."""
        return self._task.number

    def begin(self) -> None:
        """Create the worker. Call this for all trials that train together before any of them trains. Raises the errors
        of ``run_epoch``.
        """
        with lost_disk_interrupts(f"trial {self._task.number}"):
            tried_again(self._made)

    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch and return its result; None if the trial has no further epoch. After a transient disk
        error, a new worker continues from the trial's saved files. Raises DiskLostError if the error persists,
        OutOfSpaceError for a full disk, and any other error of the worker.
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
    """Return the attempts with the fewest epochs. Training these first brings all attempts to the same epoch."""
    least = min((each.reported for each in attempts), default=0)
    return [each for each in attempts if each.reported == least]
