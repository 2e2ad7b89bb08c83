"""The machines of a cluster that go: how the death of a worker with its machine is told from a crash of its own."""

import time
from functools import partial
from typing import Final

import ray
from ray._private.state import state
from ray.core.generated.common_pb2 import ActorDiedErrorContext
from ray.exceptions import RayActorError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError
from skipstack.search.driver.faults import DIED, GONE, TAKEN_BACK, Fault
from skipstack.search.engines.ray.head import nodes, of_the_head
from skipstack.search.engines.ray.machines import OF_A_MACHINE, Question, draining

GOING: Final = 5.0
"""Seconds for which a machine that goes down may outlive the first of its processes."""


def loss_of(error: BaseException | None) -> Fault | None:
    """The loss of a machine that Ray's error reports; None where it reports none, which may yet have been the cause."""
    if isinstance(error, RayActorError):
        if error.preempted:
            return Fault("preempted", TAKEN_BACK)
        if isinstance(error.__cause__, OF_A_MACHINE) or _with_its_machine(error):
            return Fault("lost", GONE)
        return None
    return Fault("lost", GONE) if isinstance(error, OF_A_MACHINE) else None


def _with_its_machine(error: RayActorError) -> bool:
    """Whether Ray knows that the actor's machine died, which only what the error was made of tells."""
    made_of = error.args[0] if error.args else None
    return isinstance(made_of, ActorDiedErrorContext) and made_of.reason == ActorDiedErrorContext.NODE_DIED


def machine_of(error: BaseException | None) -> str | None:
    """The machine of the actor that died, by the id of its node; None where Ray does not know, and for a client."""
    actor = error.actor_id if isinstance(error, RayActorError) else None
    if actor is None or ray.util.client.ray.is_connected():
        return None
    found = of_the_head(partial(state.actor_table, actor))
    machine = found["Address"]["NodeID"] if found else None
    return machine if any(node["NodeID"] == machine for node in nodes()) else None


class UnclearDeath:
    """A worker that died on another machine, of which Ray says no more: the machine may be going down, too.

    Processes of a machine that is switched off die before the cluster misses it. So it is asked whether it is still
    there after some seconds.
    """

    def __init__(self, machine: str) -> None:
        self._announced = machine in draining()
        there = NodeAffinitySchedulingStrategy(machine, soft=False)
        self._question = Question(partial(time.sleep, GOING), max_retries=0, scheduling_strategy=there)

    def is_clear(self) -> bool:
        """Whether it is known by now why the worker died."""
        return self._question.is_over()

    def fault(self) -> Fault:
        """Of the worker's own, if its machine answers."""
        gone = isinstance(self._question.answer(), UserError)
        if self._announced:
            return Fault("preempted", TAKEN_BACK)
        return Fault("lost", GONE) if gone else Fault("crashed", DIED)
