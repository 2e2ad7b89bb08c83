"""Workers that write a log for each trial: the output while it trains, and the tracebacks of its errors."""

import os
import socket
import warnings
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import final

from skipstack.search.execution.workers.output_capture import captured
from skipstack.search.execution.workers.trial_log import TrialLog
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers


@final
@dataclass(frozen=True)
class LoggedWorkers(Workers):
    """Creates workers that train exactly like the workers of ``workers``, with their output in the logs of their
    trials. ``own_process``: whether the process runs only trials, which take turns, as on Ray. If so, all its output is
    captured; if not, only the output of Python code.
    """

    workers: Workers
    own_process: bool

    def __call__(self, task: TrialTask) -> Worker:
        """Create a worker whose output is captured."""
        if self.own_process:
            with warnings.catch_warnings():  # makes Python forget past warnings, so that each attempt shows its own
                pass
        log = _log(task, f"attempt {task.attempt}, {_seeds(task)}")
        with ExitStack() as failed:
            failed.callback(log.close)
            with captured(log, own_process=self.own_process):
                worker = self.workers(task)
            failed.pop_all()
        return LoggedWorker(task, worker, log, own_process=self.own_process)

    def test(self, task: TrialTask) -> Measured:
        """Measure on the test split with ``workers``, and capture the output."""
        log = _log(task, "on the test split")
        with closing(log), captured(log, own_process=self.own_process):
            return self.workers.test(task)


@final
class LoggedWorker(Worker):
    """Trains with ``worker``, and captures its output."""

    def __init__(self, task: TrialTask, worker: Worker, log: TrialLog, *, own_process: bool) -> None:
        super().__init__(task)
        self._worker = worker
        self._log = log
        self._own_process = own_process

    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch, and capture the output."""
        with captured(self._log, own_process=self._own_process):
            return self._worker.run_epoch()

    def close(self) -> None:
        """Close the inner worker, and the log."""
        with closing(self._log), captured(self._log, own_process=self._own_process):
            self._worker.close()


def _log(task: TrialTask, what: str) -> TrialLog:
    head = f"-- {what}, on {socket.gethostname()}, process {os.getpid()}; times are UTC"
    return TrialLog(task.folder, head, several=len(task.seeds) > 1)


def _seeds(task: TrialTask) -> str:
    if task.replicates.name:
        return "; ".join(map(task.replicates.words, task.seeds))
    return f"seed{'s' if len(task.seeds) > 1 else ''} {', '.join(map(str, task.seeds))}"
