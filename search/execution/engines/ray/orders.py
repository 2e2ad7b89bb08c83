"""Orders to a process of a study between two of its steps; without an order, it continues with the trials it has."""

from dataclasses import dataclass

from ray import cloudpickle
from ray.actor import ActorHandle

from skipstack.search.execution.driver.measuring_on_test import Measurement
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.study.task import TrialTask, Workers


@dataclass(frozen=True, slots=True)
class PrepareProcess:
    """Order to get ready: the workers of the study, and the checks that the machine must pass; None on the driver's own
    machine.
    """

    workers: Workers
    preflight: Preflight | None


@dataclass(frozen=True, slots=True)
class ChangeTrials:
    """Order to release the trials that ``left``, and to train those that ``joined``, too. Trials that are ``parting``
    have ended or paused: they only send their remaining files.
    """

    left: tuple[int, ...] = ()
    parting: tuple[int, ...] = ()
    joined: tuple[TrialTask, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasureTrial:
    """Order to measure a trial on the test split."""

    measurement: Measurement


Order = PrepareProcess | ChangeTrials | MeasureTrial


def give(process: ActorHandle, order: Order) -> None:
    """Send a process an order for its next step, before that step is requested.

    The order travels as bytes, so that the process itself reports what it cannot read.
    """
    process.order.remote(cloudpickle.dumps(order))
