"""Runs a call of a user's function in a thread, from one report to the next. Only one thread of a trial runs at a time.
``advance`` resumes a thread, which suspends itself when the function reports or ends.
"""

import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, final

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.execution.driver.functions import arguments
from skipstack.search.execution.workers import reporting
from skipstack.search.execution.workers.call_checkpoints import CallCheckpoint
from skipstack.search.execution.workers.call_models import CallModels
from skipstack.search.execution.workers.global_random_state import GlobalRandomState
from skipstack.search.execution.workers.output_capture import output_of
from skipstack.search.execution.workers.reporting import (
    SCORE,
    Objective,
    Report,
    SeedReport,
    TrackedRun,
    TrialOver,
    Values,
)
from skipstack.search.study.task import TrialTask
from skipstack.spaces.domains import Json

OURS: Final = frozenset({__file__, reporting.__file__})


@final
class SeedRun:
    """A call of a user's function, advanced from report to report. ``values``: the config's values. ``number``: the
    number of the call in the trial. ``cpus``: the number of CPUs of an ordinary trial; None if it may use the whole
    machine. ``tracked``: the run of the call in MLflow.
    """

    def __init__(
        self,
        function: Objective,
        values: Mapping[str, Json],
        task: TrialTask,
        number: int,
        cpus: int | None,
        tracked: TrackedRun,
    ) -> None:
        replicates = task.replicates
        self.latest: SeedReport | None = None
        """The latest report of the call; at first the report in the restored checkpoint, if any."""
        self.returned = False
        self._function: Callable[..., Any] = function
        self._words = replicates.words(number)
        self._values = Values(values, replicates.arguments(number))
        self.models = CallModels.of(task, number)
        self._tracked = tracked
        self._report = Report(
            task,
            number,
            self._hand_over,
            models=self.models,
            tracked=tracked,
            restored=self._go_on_from,
            check_goes_on=self._check_goes_on,
        )
        self._chance = GlobalRandomState(replicates.seed(number))
        self._mine, self._theirs = threading.Semaphore(0), threading.Semaphore(0)
        # The thread runs in the context of its creator, so that the log captures its output.
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True, name=self._words)
        self._waits = True
        self._closing = False
        self._cpus = None if cpus is None else cpus * task.share
        self._error: BaseException | None = None
        self._began = 0.0

    def advance(self) -> None:
        """Run the function up to its next report, or to its end. Raises any exception of the function."""
        with self._turn():
            self._began = time.perf_counter()
            self._lend()
            self._theirs.acquire()
            self._waits = True
            if self._error is not None:
                raise self._error

    def close(self) -> None:
        """End the call if it is suspended, and wait for its thread. A call that is computing is not ended."""
        self._closing = True
        if self._waits and self._thread.is_alive():
            with self._turn():
                self._lend()
                self._thread.join()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Set up the process for this call during the block: its random state, and its name in the log."""
        with self._chance.own(), output_of(self._words):
            yield

    def _lend(self) -> None:
        self._waits = False
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._mine.release()

    def _run(self) -> None:
        try:
            self._tracked_call()
        except TrialOver:
            pass
        except BaseException as error:  # noqa: BLE001 (``advance`` raises it)
            self._error = _as_ordinary_error(error)
        self.returned = True
        self._theirs.release()

    def _tracked_call(self) -> None:
        """Call the function, and end the MLflow runs that it has begun. If it has made no report, its return value
        counts as its report.
        """
        try:
            by_position, by_name = arguments(self._function, self._values, self._report)
            returned = self._function(*by_position, **by_name)
            if returned is not None and not self._report.epoch:
                self._report.returned(returned)
        except BaseException as error:
            self._tracked.returned(failed=isinstance(error, Exception))
            raise
        self._tracked.returned()

    def _hand_over(self, epoch: int, score: float, metrics: Mapping[str, float]) -> bool:
        """Store a report, suspend the thread and wait to be resumed, which means that the ledger has the epoch."""
        self._check_goes_on()
        if self._cpus is not None:  # torch's number of threads is set per thread, so this thread checks it
            _warn_of_threads(self._cpus)
        self.latest = SeedReport(epoch, score, metrics, time.perf_counter() - self._began)
        self._theirs.release()
        self._mine.acquire()
        self._check_goes_on()
        return True

    def _check_goes_on(self) -> None:
        if self._closing:
            raise TrialOver

    def _go_on_from(self, checkpoint: CallCheckpoint) -> None:
        """Use the report in a restored checkpoint as the call's last report. It counts if the call makes no other."""
        if checkpoint.report is not None:
            numbers = dict(checkpoint.report)
            self.latest = SeedReport(checkpoint.epoch, numbers.pop(SCORE), numbers, 0.0)


def _warn_of_threads(cpus: int) -> None:
    """Warn if torch uses more threads than the ``cpus`` of a trial, which slows other trials. Does not import torch."""
    torch = sys.modules.get("torch")
    if torch is not None and (threads := torch.get_num_threads()) > cpus:
        _warn_once(threads, cpus)


@lru_cache(maxsize=1)
def _warn_once(threads: int, cpus: int) -> None:
    warnings.warn(
        f"torch computes on {threads} threads, and the trial has {cpus} of the CPUs "
        f"(allowed: torch.set_num_threads({cpus}), or cpus_per_trial={threads})",
        stacklevel=3,
    )


def _as_ordinary_error(error: BaseException) -> BaseException:
    """Return the error with a note of the source lines where it was raised. If the error would end the study or the
    process, return a RuntimeError instead.
    """
    if isinstance(error, UserError) or not isinstance(error, Exception):
        ordinary = RuntimeError(one_line(error)).with_traceback(error.__traceback__)
        ordinary.__cause__ = error
        error = ordinary
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename not in OURS]
    if frames:
        error.add_note(f"at {', '.join(f'{Path(each.filename).name}:{each.lineno} in {each.name}' for each in frames)}")
    return error
