"""What runs in the processes of a Ray cluster: one trial after another, then measurements."""

import os
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from skipstack.data.basis.loading import uncollected

with uncollected():  # half of a worker's start
    import ray
    from ray import tune
    from ray.tune.execution.class_cache import DEFAULT_ENV_VARS

    from skipstack.data.basis.errors import UserError
    from skipstack.search.driver.attempt import Attempt
    from skipstack.search.driver.device_errors import broken_here
    from skipstack.search.driver.faults import DiskLostError, Fault, OutOfSpaceError, fault_of
    from skipstack.search.driver.measuring_on_test import Measurement, measured
    from skipstack.search.driver.task import TrialTask, Workers
    from skipstack.search.engines.ray.cards import this_card
    from skipstack.search.engines.ray.carrying.carried_workers import CarriedWorkers, PartedError
    from skipstack.search.engines.ray.carrying.scratch import leave
    from skipstack.search.engines.ray.preflight import Preflight

BROKEN_BEFORE = "its process was left with a GPU that an earlier trial broke"


@dataclass(frozen=True, slots=True, repr=False)
class Assignment:
    """What an actor is given: what to train or to measure, by which workers, and what its machine must be able to do.

    Tune copies whatever it is given three times a trial, and prints it twice. This is never changed, and its print is
    short.
    """

    task: TrialTask | Measurement
    workers: Workers
    preflight: Preflight | None

    def __deepcopy__(self, memory: dict[int, Any]) -> Self:
        return self


class TrialActor(tune.Trainable):  # type: ignore[misc]
    """One process of the cluster; it trains one trial after another, and measures."""

    def setup(self, config: dict[str, Any]) -> None:
        """Without an attempt: Tune is not told in time why a worker cannot be made."""
        os.environ.update(DEFAULT_ENV_VARS)  # which Tune would start a process of its own for
        self.attempt: Attempt | None = None
        self.broken = False

    def cleanup(self) -> None:
        """Tune ends this process."""
        self._leave()
        leave()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Ready for another trial."""
        self._leave()
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """What the trial or the measurement gives, or what it raises: Tune does not tell a scheduler why it failed.

        ``card``: the GPU that it was computed on. After an error that breaks it, this process ends when asked again.
        """
        if self.broken:
            leave()
            os._exit(1)  # an ordinary exit may wait for the GPU
        outcome = self._outcome()
        self.broken = isinstance(outcome, Fault) and outcome.broken is not None
        return {"outcome": outcome, "card": this_card()}

    def _outcome(self) -> Any:
        try:
            if self.attempt is None:
                if (trouble := broken_here()) is not None:  # an earlier trial has not told of it
                    return Fault("lost", f"{BROKEN_BEFORE}: {trouble}", broken="program")
                given: Assignment = self.config["given"]
                _check_once(given.preflight)
                if isinstance(given.workers, CarriedWorkers):
                    given.workers.stay()
                if isinstance(given.task, Measurement):
                    return measured(given.workers, given.task)
                self.attempt = Attempt(given.workers, given.task)
            return self.attempt.run_epoch()
        except (OutOfSpaceError, DiskLostError) as cause:
            joined = self.config["given"].preflight is not None  # else there is one machine
            return type(cause)(f"{cause}; met on machine {_this_machine()}") if joined else cause
        except (UserError, PartedError) as cause:
            return cause
        except Exception as error:  # noqa: BLE001 (whatever a trial raises ends that trial, not the study)
            self._leave()
            return fault_of(error)

    def get_auto_filled_metrics(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """As Tune's, without what this worker was given: in Tune it goes back to the driver with each report, which
        unpacks and prints it, more than all else that it does with one.
        """
        filled = super().get_auto_filled_metrics(*arguments, **options)
        return {name: value for name, value in filled.items() if name != "config"}

    def _leave(self) -> None:
        """Let go of the trial, and of its memory."""
        attempt, self.attempt = self.attempt, None
        if attempt is not None:
            attempt.close()


@lru_cache(maxsize=1)
def _check_once(preflight: Preflight | None) -> None:
    """A machine that joined in the midst of a study is asked when it begins; a process asks once."""
    trouble = None if preflight is None else preflight.trouble()
    if trouble is not None:
        raise UserError(f"machine {_this_machine()}: {trouble}")


def _this_machine() -> str:
    return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
