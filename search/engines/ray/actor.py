"""What runs in the processes of a Ray cluster: trials, one after another or by turns, then measurements."""

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Self

from skipstack.data.basis.loading import uncollected

with uncollected():  # half of a worker's start
    import ray
    from ray import tune
    from ray.tune.execution.class_cache import DEFAULT_ENV_VARS

    from skipstack.data.basis.errors import UserError
    from skipstack.search.driver.attempt import Attempt, least_advanced
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
    """What an actor is given: trials to train or one to measure, by which workers, and what its machine must be able to
    do.

    Tune copies whatever it is given three times a trial, and prints it twice. This is never changed, and its print is
    short.
    """

    given: Sequence[TrialTask] | Measurement
    workers: Workers
    preflight: Preflight | None

    @property
    def numbers(self) -> list[int]:
        """Those of its trials."""
        return [self.given.task.number] if isinstance(self.given, Measurement) else [each.number for each in self.given]

    def __deepcopy__(self, memory: dict[int, Any]) -> Self:
        return self


class TrialActor(tune.Trainable):  # type: ignore[misc]
    """One process of the cluster; it trains one trial after another, and measures. Where trials share programs, it
    holds several at a time, which train an epoch each by turns: the least advanced first.
    """

    def setup(self, config: dict[str, Any]) -> None:
        """Without attempts: Tune is not told in time why a worker cannot be made."""
        os.environ.update(DEFAULT_ENV_VARS)  # which Tune would start a process of its own for
        self.attempts: list[Attempt] = []
        self.parting: set[int] = set()
        self.begun = False
        self.broken = False

    def cleanup(self) -> None:
        """Tune ends this process."""
        self._leave()
        leave()

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Ready for other trials."""
        self._leave()
        self.setup(new_config)
        return True

    def change(self, left: Sequence[int], parting: Sequence[int], joined: Sequence[TrialTask]) -> None:
        """Between two steps: these trials have left, these end once all is sent that is left of them, these join."""
        for attempt in [each for each in self.attempts if each.number in left]:
            self._end(attempt)
        self.parting = self.parting.union(parting) - set(left)
        self.attempts += [Attempt(self.config["given"].workers, task) for task in joined]

    def step(self) -> dict[str, Any]:
        """What each trial whose turn it is gives, or the measurement, or what these raise: Tune does not tell a
        scheduler why they failed.

        ``card``: the GPU that it was computed on. After an error that breaks it, this process ends when asked again.
        """
        if self.broken:
            leave()
            os._exit(1)  # an ordinary exit may wait for the GPU
        outcomes = self._outcomes()
        self.broken = any(map(breaks, outcomes.values()))
        return {"outcomes": tuple(outcomes.items()), "card": this_card()}  # a mapping would be flattened

    def _outcomes(self) -> dict[int, Any]:
        """By the number of each trial."""
        if not self.begun:
            given: Assignment = self.config["given"]
            if (trouble := broken_here()) is not None:  # an earlier trial has not told of it
                fault = Fault("lost", f"{BROKEN_BEFORE}: {trouble}", broken="program")
                return dict.fromkeys(given.numbers, fault)
            if (refusal := self._tried(partial(_arrive, given))) is not None:
                return {given.numbers[0]: refusal}
            if isinstance(given.given, Measurement):
                return {given.given.task.number: self._tried(partial(measured, given.workers, given.given))}
            self.attempts = [Attempt(given.workers, task) for task in given.given]
            self.begun = True
        outcomes: dict[int, Any] = {}
        if len(self.attempts) > 1:  # those that train together know of each other before any of them trains
            for attempt in list(self.attempts):
                if (failure := self._tried(attempt.begin, attempt)) is not None:
                    outcomes[attempt.number] = failure
        due = [each for each in self.attempts if each.number not in outcomes]
        parting = [each for each in due if each.number in self.parting]
        for attempt in parting or least_advanced(due):
            outcomes[attempt.number] = outcome = self._tried(attempt.run_epoch, attempt)
            if breaks(outcome):
                break
        return outcomes

    def _tried(self, work: Callable[[], Any], attempt: Attempt | None = None) -> Any:
        """What ``work`` gives or raises; an ``attempt`` that raises ends, unless it is asked again."""
        try:
            return work()
        except (OutOfSpaceError, DiskLostError) as cause:
            joined = self.config["given"].preflight is not None  # else there is one machine
            return type(cause)(f"{cause}; met on machine {_this_machine()}") if joined else cause
        except (UserError, PartedError) as cause:
            return cause
        except Exception as error:  # noqa: BLE001 (whatever a trial raises ends that trial, not the study)
            if attempt is not None:
                self._end(attempt)
            return fault_of(error)

    def get_auto_filled_metrics(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """As Tune's, without what this worker was given: in Tune it goes back to the driver with each report, which
        unpacks and prints it, more than all else that it does with one.
        """
        filled = super().get_auto_filled_metrics(*arguments, **options)
        return {name: value for name, value in filled.items() if name != "config"}

    def _end(self, attempt: Attempt) -> None:
        """Let go of a trial, and of its memory."""
        self.attempts.remove(attempt)
        attempt.close()

    def _leave(self) -> None:
        """Let go of all."""
        while self.attempts:
            self._end(self.attempts[-1])


def breaks(outcome: object) -> bool:
    """Whether this process can use its GPU no more."""
    return isinstance(outcome, Fault) and outcome.broken is not None


def _arrive(given: Assignment) -> None:
    """Before the first trial, or a measurement: the machine is asked what it must be able to do."""
    _check_once(given.preflight)
    if isinstance(given.workers, CarriedWorkers):
        given.workers.stay()


@lru_cache(maxsize=1)
def _check_once(preflight: Preflight | None) -> None:
    """A machine that joined in the midst of a study is asked when it begins; a process asks once."""
    trouble = None if preflight is None else preflight.trouble()
    if trouble is not None:
        raise UserError(f"machine {_this_machine()}: {trouble}")


def _this_machine() -> str:
    return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
