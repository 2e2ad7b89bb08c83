"""The engine without Ray: runs all trials in this process, one after another, or several that take turns."""

from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.attempt import Attempt, least_advanced
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.driver.faults import DeviceBrokenError, Fault, fault_of
from skipstack.search.execution.driver.measuring_on_test import measured
from skipstack.search.execution.engines.alarm import Alarm, alarm_after
from skipstack.search.study.task import Workers

Answer = TypeVar("Answer")


class SerialEngine(Engine):
    """Runs all trials in this process: for tests, for debugging, for machines without Ray, and for several trials that
    train as one batched program, which a GPU computes faster. The order of events is reproducible. ``device``: the
    device that ``words`` names; None to name none.

    Up to ``trials`` trials are in progress at a time and take turns, one epoch each. In each round, the trials with the
    fewest epochs train, so that they catch up. Trials with equally many epochs train together if ``worker`` supports
    that. After each round, new trials replace trials that ended or paused.

    If a worker kills this process, the next driver continues from the last checkpoints. A GPU error after which this
    process cannot use its GPU interrupts the study. In the main thread, an alarm ends trials whose report is overdue
    because of their time limit or the end of the study's hours.
    """

    def __init__(self, worker: Workers, device: str | None = "cpu", *, trials: int = 1) -> None:
        self.worker = worker
        self._trials = trials
        here = {None: "", "cuda": ", on a GPU"}.get(device, ", on a CPU")
        order = "one trial after another" if trials == 1 else f"{trials} trials at a time in one program where they fit"
        self.words = f"{order}{here}"

    def run(self, driver: Driver) -> None:
        """Run the trials until they end or pause, then the measurements on the test split, one after another."""
        driver.turns = self._trials
        with closing(_Held(driver, self.worker)) as held:
            while True:
                while len(held) < self._trials and held.begin_next():
                    pass
                if not len(held):
                    break
                held.make_workers()
                for attempt in held.least_advanced():
                    held.train(attempt)
        driver.end_paused()
        while measurements := driver.measurements():
            for each in measurements:
                driver.measuring(each.task.number)
                outcome = measured(self.worker, each)
                driver.measured(each.task.number, outcome)
                if isinstance(outcome, Fault):
                    _check(outcome, each.task.number)


class _Held:
    """Trains the trials in progress, in the order in which they began, and reports their epochs to the driver."""

    def __init__(self, driver: Driver, workers: Workers) -> None:
        self._driver = driver
        self._workers = workers
        self._attempts: list[Attempt] = []

    def __len__(self) -> int:
        return len(self._attempts)

    def begin_next(self) -> bool:
        """Begin the driver's next trial; return False if the driver has none."""
        task = self._driver.next()
        if task is None:
            return False
        self._attempts.append(Attempt(self._workers, task))
        return True

    def make_workers(self) -> None:
        """If there are several attempts, create the workers of all attempts before any of them trains."""
        if len(self) > 1:
            for attempt in list(self._attempts):
                self._asked(attempt, attempt.begin)

    def least_advanced(self) -> list[Attempt]:
        """The attempts with the fewest trained epochs."""
        return least_advanced(self._attempts)

    def train(self, attempt: Attempt) -> None:
        """Train the next epoch of an attempt, and act on the driver's decision."""
        for result in self._asked(attempt, attempt.run_epoch):
            if result is None:
                self._driver.returned(attempt.number)
                self._end(attempt)
            elif self._driver.report(attempt.number, result).action != "continue":
                self._end(attempt)

    def close(self) -> None:
        """Release all workers."""
        while self._attempts:
            self._end(self._attempts[-1])

    def _asked(self, attempt: Attempt, work: Callable[[], Answer]) -> list[Answer]:
        """Call ``work``, and return its result in a list. If the attempt fails or its time is over, end it and return
        [].
        """
        driver = self._driver
        while True:
            try:
                with alarm_after(driver.seconds_left(attempt.number)):
                    return [work()]
            except Alarm:
                if not (driver.hours_are_over() or attempt.number in driver.silent()):  # the clock was set back
                    continue
                driver.given_up(attempt.number)
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 (any error of a trial ends that trial, not the study)
                fault = fault_of(error)
                driver.faulted(attempt.number, fault)
                self._end(attempt)
                _check(fault, attempt.number)
                return []
            self._end(attempt)
            return []

    def _end(self, attempt: Attempt) -> None:
        self._attempts.remove(attempt)
        attempt.close()


def _check(fault: Fault, number: int) -> None:
    """Raise DeviceBrokenError for a fault after which this process cannot use its GPU."""
    if fault.broken is not None:
        raise DeviceBrokenError(
            f"trial {number}: {fault.message}; after such an error a process cannot use its GPU any more (allowed: "
            "another process; the engine ray starts one by itself)"
        )
