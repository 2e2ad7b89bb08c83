"""Orders that change the work of a worker process. The driver sends them between two steps of the process."""

from dataclasses import dataclass

from ray import cloudpickle
from ray.actor import ActorHandle

from skipstack.search.execution.driver.measuring_on_test import Measurement
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.study.task import TrialTask, Workers


@dataclass(frozen=True, slots=True)
class PrepareProcess:
    """Order to prepare for work. ``workers``: creates the workers of the study. ``preflight``: the checks that the
    process's machine must pass; None if the driver's machine is the only one.
    """

    workers: Workers
    preflight: Preflight | None


@dataclass(frozen=True, slots=True)
class ChangeTrials:
    """Order to release the trials ``left``, and to train the trials ``joined`` besides the trials that remain.
    ``parting``: trials that have ended or paused, and only send their remaining files.
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
    """Send a process an order for its next step, before Tune requests that step. The order is sent as bytes. So the
    process unpickles it itself, and can report an error in unpickling.
    """
    process.order.remote(cloudpickle.dumps(order))
