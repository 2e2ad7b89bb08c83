"""The engine without ray: one trial after another in this process."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from skipstack.data.basis.errors import UserError
from skipstack.search.driver.attempt import Attempt
from skipstack.search.driver.driver import Driver
from skipstack.search.driver.engine import Engine
from skipstack.search.driver.faults import DeviceBrokenError, Fault, fault_of
from skipstack.search.driver.measuring_on_test import Measurement, measured
from skipstack.search.driver.task import Measured, TrialTask, Workers
from skipstack.search.engines.alarm import Alarm, alarm_after


class SerialEngine(Engine):
    """For tests, for debugging, and where ray is not wanted. The order of events is the same every time.

    A worker whose process dies takes the driver with it; the next driver goes on from its last checkpoint. An error of
    its GPU, after which no trial of this process could use it, interrupts the study. A trial that reports nothing after
    the study's hours is interrupted, if this is the main thread.
    """

    def __init__(self, worker: Workers, device: str | None = "cpu") -> None:
        self.worker = worker
        here = {None: "", "cuda": ", on a GPU"}.get(device, ", on a CPU")
        self.words = f"one trial after another{here}"

    def run(self, driver: Driver) -> None:
        """Each trial to its end, or until it pauses, before the next one begins or goes on."""
        while (task := driver.next()) is not None:
            self._run_trial(driver, task)

    def test(self, measurements: Sequence[Measurement]) -> Iterator[tuple[int, Measured | Fault]]:
        """One after another."""
        for measurement in measurements:
            outcome = measured(self.worker, measurement)
            yield measurement.task.number, outcome
            if isinstance(outcome, Fault):
                _check(outcome, measurement.task.number)

    def _run_trial(self, driver: Driver, task: TrialTask) -> None:
        with closing(Attempt(self.worker, task)) as attempt:
            while True:
                try:
                    with alarm_after(driver.seconds_left):
                        result = attempt.run_epoch()
                except Alarm:
                    if not driver.hours_are_over():  # as after a clock was set back
                        continue
                    driver.given_up(task.number)
                    return
                except UserError:
                    raise
                except Exception as error:  # noqa: BLE001 (whatever a trial raises ends that trial, not the study)
                    fault = fault_of(error)
                    driver.faulted(task.number, fault)
                    _check(fault, task.number)
                    return
                if result is None:
                    driver.returned(task.number)
                    return
                if driver.report(task.number, result).action != "continue":
                    return


def _check(fault: Fault, number: int) -> None:
    """Raises DeviceBrokenError for a fault after which this process cannot use its GPU."""
    if fault.broken is not None:
        raise DeviceBrokenError(
            f"trial {number}: {fault.message}; after such an error a process cannot use its GPU any more (allowed: "
            "another process; the engine ray starts one by itself)"
        )
