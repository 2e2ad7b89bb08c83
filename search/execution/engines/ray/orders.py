"""What a process of a study is told between two of its steps. Where it is told nothing, it goes on with what it has."""

from dataclasses import dataclass

from ray import cloudpickle
from ray.actor import ActorHandle

from skipstack.search.execution.driver.measuring_on_test import Measurement
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.study.task import TrialTask, Workers


@dataclass(frozen=True, slots=True)
class Prepare:
    """Get ready: these are the workers of the study, and what the machine must be able to do; None: it is the driver's
    own.
    """

    workers: Workers
    preflight: Preflight | None


@dataclass(frozen=True, slots=True)
class Change:
    """The trials ``left`` are let go of, those that ``joined`` are trained, too. Trials that are ``parting`` have ended
    or paused: they send what is left of them instead.
    """

    left: tuple[int, ...] = ()
    parting: tuple[int, ...] = ()
    joined: tuple[TrialTask, ...] = ()


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure a trial on the test split."""

    measurement: Measurement


Order = Prepare | Change | Measure


def give(process: ActorHandle, order: Order) -> None:
    """Give a process an order for its next step, which is asked for after it.

    It travels as bytes: what cannot be read there is the process's to say.
    """
    process.order.remote(cloudpickle.dumps(order))
