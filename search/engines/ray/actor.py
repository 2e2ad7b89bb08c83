"""What runs in the processes of a Ray cluster: one trial after another, then measurements."""

import os
import socket
from functools import lru_cache
from typing import Any

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
    from skipstack.search.engines.ray.cards import this_card
    from skipstack.search.engines.ray.carrying.carried_workers import CarriedWorkers, PartedError
    from skipstack.search.engines.ray.carrying.scratch import leave
    from skipstack.search.engines.ray.preflight import Preflight

BROKEN_BEFORE = "its process was left with a GPU that an earlier trial broke"


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
                _check_once(self.config["preflight"])
                workers = self.config["worker"]
                if isinstance(workers, CarriedWorkers):
                    workers.stay()
                if isinstance(self.config["task"], Measurement):
                    return measured(workers, self.config["task"])
                self.attempt = Attempt(workers, self.config["task"])
            return self.attempt.run_epoch()
        except (OutOfSpaceError, DiskLostError) as cause:
            joined = self.config["preflight"] is not None  # else there is one machine
            return type(cause)(f"{cause}; met on machine {_this_machine()}") if joined else cause
        except (UserError, PartedError) as cause:
            return cause
        except Exception as error:  # noqa: BLE001 (whatever a trial raises ends that trial, not the study)
            self._leave()
            return fault_of(error)

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
