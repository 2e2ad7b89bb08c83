"""Runs in the processes of a Ray cluster: trains trials and measures them on the test split, according to orders."""

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from skipstack.data.basis.collection import uncollected

with uncollected():  # these imports take half of a worker's start
    import ray
    from ray import cloudpickle, tune
    from ray.actor import ActorHandle

    from skipstack.data.basis.errors import UserError, one_line
    from skipstack.search.execution.driver.attempt import Attempt, least_advanced
    from skipstack.search.execution.driver.device_errors import broken_here
    from skipstack.search.execution.driver.faults import DiskLostError, Fault, OutOfSpaceError, fault_of
    from skipstack.search.execution.driver.interruption import not_inherited
    from skipstack.search.execution.driver.measuring_on_test import Measurement, measured
    from skipstack.search.execution.engines.ray.copying.copying_workers import CopyingWorkers, PartedError
    from skipstack.search.execution.engines.ray.copying.scratch import leave
    from skipstack.search.execution.engines.ray.gpu_failures import ProcessGpus, own_gpus
    from skipstack.search.execution.engines.ray.orders import ChangeTrials, MeasureTrial, Order, PrepareProcess
    from skipstack.search.study.task import Workers

BROKEN_BEFORE = "its process was left with a GPU that an earlier trial broke"


FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds for which a process without work waits before its step ends: at first, and at most."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The result of a new process's first step: its handle, and the GPUs that it may use."""

    process: ActorHandle
    gpus: ProcessGpus


class WorkerProcess(tune.Trainable):  # type: ignore[misc]  # mypy reads no types of Ray
    """Trains and measures trials in a slot of a study. The first step returns a ``Greeting``. Each later step carries
    out the orders that have arrived (``orders.py``). If no order has given an outcome, the step also trains an epoch of
    the trials with the fewest epochs. A process has several trials only if they can train as one batched program.
    """

    def setup(self, config: dict[str, Any]) -> None:
        """Initialise only values whose creation cannot fail, since Tune does not report errors raised here."""
        not_inherited()
        self._greeted = False
        self._orders: deque[bytes] = deque()
        self._prepared: PrepareProcess | None = None
        self._attempts: list[Attempt] = []
        self._parting: set[int] = set()
        self._broken = False
        self._pause = FIRST_PAUSE

    def cleanup(self) -> None:
        """Release all trials when Tune ends this process."""
        while self._attempts:
            self._end(self._attempts[-1])
        leave()
        if self._broken:
            os._exit(1)  # an ordinary exit may wait for the GPU

    def order(self, order: bytes) -> None:
        """Receive a pickled order for the next step."""
        self._orders.append(order)

    def ping(self) -> None:
        """Do nothing. If this process has died, the call raises Ray's error with the cause of death."""

    def step(self) -> dict[str, Any]:
        """Run a step and return its results for ``SlotScheduler``. ``gpus``: the GPUs of this process. ``outcomes``:
        pairs of a trial's number and its result or error, for each trial that trained, was measured or failed to begin.
        ``greeting``: in the first step only. ``trouble``: the reason, if this process cannot train.
        """
        result: dict[str, Any] = {"outcomes": (), "gpus": own_gpus()}  # Tune would flatten a mapping
        if not self._greeted:
            self._greeted = True
            return {**result, "greeting": Greeting(ray.get_runtime_context().current_actor, own_gpus())}
        outcomes: dict[int, Any] = {}
        while self._orders:
            try:
                order: Order = cloudpickle.loads(self._orders.popleft())
                if isinstance(order, PrepareProcess) and (trouble := self._prepare(order)) is not None:
                    return {**result, "trouble": trouble}
            except Exception as error:  # noqa: BLE001 (such as a module that this machine lacks)
                return {**result, "trouble": one_line(error)}
            if isinstance(order, ChangeTrials):
                outcomes |= self._change(order)
            elif isinstance(order, MeasureTrial):
                outcomes |= self._measure(order.measurement)
        if not outcomes and self._attempts:
            outcomes = self._trained()
        if outcomes:
            self._pause = FIRST_PAUSE
        elif self._prepared is not None:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._broken = any(map(breaks, outcomes.values()))
        return {**result, "outcomes": tuple(outcomes.items())}

    def _prepare(self, order: PrepareProcess) -> str | None:
        trouble = None if order.preflight is None else order.preflight.trouble()
        if trouble is None and isinstance(order.workers, CopyingWorkers):
            order.workers.stay()
        self._prepared = order
        return trouble

    @property
    def _workers(self) -> Workers:
        assert self._prepared is not None, "a process is prepared before it gets any work"
        return self._prepared.workers

    def _change(self, order: ChangeTrials) -> dict[int, Any]:
        """Release trials and begin others, according to ``order``. Return faults of trials that cannot begin."""
        for attempt in [each for each in self._attempts if each.number in order.left]:
            self._end(attempt)
        self._parting = self._parting.union(order.parting) - set(order.left)
        if order.joined and not self._attempts and (fault := _left_broken()) is not None:
            return {task.number: fault for task in order.joined}
        self._attempts += [Attempt(self._workers, task) for task in order.joined]
        return {}

    def _measure(self, measurement: Measurement) -> dict[int, Any]:
        return {measurement.task.number: _left_broken() or self._tried(partial(measured, self._workers, measurement))}

    def _trained(self) -> dict[int, Any]:
        outcomes: dict[int, Any] = {}
        if len(self._attempts) > 1:  # workers that train together must all exist before any trains
            for attempt in list(self._attempts):
                if (failure := self._tried(attempt.begin, attempt)) is not None:
                    outcomes[attempt.number] = failure
        due = [each for each in self._attempts if each.number not in outcomes]
        parting = [each for each in due if each.number in self._parting]
        for attempt in parting or least_advanced(due):
            outcomes[attempt.number] = outcome = self._tried(attempt.run_epoch, attempt)
            if breaks(outcome):
                break
        return outcomes

    def _tried(self, work: Callable[[], Any], attempt: Attempt | None = None) -> Any:
        """Call ``work``, and return its result or its error. If the error is a fault of one trial, not of the study,
        end ``attempt``, the attempt at that trial.
        """
        try:
            return work()
        except (OutOfSpaceError, DiskLostError) as cause:
            joined = self._prepared is not None and self._prepared.preflight is not None  # no preflight: one machine
            return type(cause)(f"{cause}; met on machine {own_gpus().name}") if joined else cause
        except (UserError, PartedError) as cause:
            return cause
        except Exception as error:  # noqa: BLE001 (any error of a trial ends that trial, not the study)
            if attempt is not None:
                self._end(attempt)
            return fault_of(error)

    def _end(self, attempt: Attempt) -> None:
        """Release a trial and its memory."""
        self._attempts.remove(attempt)
        attempt.close()


def breaks(outcome: object) -> bool:
    """Whether the process can no longer use its GPU after this outcome."""
    return isinstance(outcome, Fault) and outcome.broken is not None


def _left_broken() -> Fault | None:
    """Return a fault if an earlier trial made this process's GPU unusable without an error; otherwise None."""
    trouble = broken_here()
    return None if trouble is None else Fault("lost", f"{BROKEN_BEFORE}: {trouble}", broken="program")
