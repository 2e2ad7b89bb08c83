"""Finds out why a process of the cluster died: by a crash, for lack of memory, or because its machine was lost."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import ray
from ray.actor import ActorHandle
from ray.exceptions import LocalRayletDiedError, NodeDiedError, ObjectLostError, OutOfMemoryError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.execution.driver.faults import (
    DIED,
    GONE,
    TAKEN_BACK,
    Fault,
    kernel_kills,
    lost_disk,
    says_out_of_memory,
)
from skipstack.search.execution.engines.ray.head import check_this_machine, draining, nodes
from skipstack.search.execution.engines.ray.machines import Question, silent

GOING: Final = 5.0
"""Seconds for which a machine that shuts down may still be in the cluster after the first of its processes died."""

ANSWERS_WITHIN: Final = 10.0
"""Seconds to wait for Ray's answer on the state of a process."""

ANNOUNCED: Final = 3
"""The value of ``DeathReason`` in ``ray.nodes`` for a machine whose removal had been announced."""

OUT_OF_MEMORY: Final = Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")


class Kernel:
    """Tells whether the kernel of this machine has killed processes, of any program, because memory ran out."""

    def __init__(self) -> None:
        self._kills = kernel_kills()

    def has_killed(self) -> bool:
        """Whether the kernel has killed any process for lack of memory since the last call."""
        before, self._kills = self._kills, kernel_kills()
        return self._kills > before


class Death:
    """Finds the cause of the death of ``process``. ``machine``: the node id of its machine. ``error``: Ray's error.
    ``words``: Tune's record of the error. ``kernel``: counts kills for lack of memory on this machine.

    When a machine is switched off, its processes die before the cluster notices. So if the process died on another
    machine and Ray gives no cause, a task that takes some seconds is sent to that machine, to see whether the machine
    is still in the cluster. Until the task has ended or failed, the cause is unclear.
    """

    def __init__(self, process: ActorHandle, machine: str, error: RayError | None, words: str, kernel: Kernel) -> None:
        check_this_machine()
        self._machine = machine
        is_here = machine == ray.get_runtime_context().get_node_id()
        killed = kernel.has_killed() and is_here
        self._fault = loss(error)
        self._question: Question[None] | None = None
        if self._fault is not None:
            return
        self._announced = machine in draining()
        if (gone := self._lost()) is not None:
            self._fault = gone
        elif isinstance(error, OutOfMemoryError) or says_out_of_memory(f"{words}\n{error}") or killed:
            self._fault = OUT_OF_MEMORY
        elif not is_here:
            there = NodeAffinitySchedulingStrategy(machine, soft=False)
            self._question = Question(partial(time.sleep, GOING), max_retries=0, scheduling_strategy=there)

    def is_clear(self) -> bool:
        """Whether the cause of death is known by now."""
        return self._question is None or self._question.is_over()

    def fault(self) -> Fault:
        """The cause of death, as a fault. Waits until it is clear."""
        if self._fault is not None:
            return self._fault
        if self._question is None or not isinstance(self._question.answer(), UserError):
            return Fault("crashed", DIED)
        return self._lost() or (Fault("preempted", TAKEN_BACK) if self._announced else Fault("lost", GONE))

    def _lost(self) -> Fault | None:
        """The loss of the process's machine, as a fault; None if the machine is still in the cluster."""
        node = next((each for each in nodes() if each["NodeID"] == self._machine), {"Alive": False})
        if node["Alive"]:
            return None
        announced = self._announced or node.get("DeathReason") == ANNOUNCED
        return Fault("preempted", TAKEN_BACK) if announced else Fault("lost", GONE)


def loss(error: BaseException | None) -> Fault | None:
    """Return the loss of a machine that Ray's error reports, as a fault. None if it reports none, although a machine
    may be lost all the same.
    """
    if getattr(error, "preempted", False):
        return Fault("preempted", TAKEN_BACK)
    return Fault("lost", GONE) if isinstance(error, NodeDiedError | LocalRayletDiedError | ObjectLostError) else None


def failures(processes: Sequence[ActorHandle]) -> list[RayError | None]:
    """Return Ray's error for each process that has died, and None for each that lives or is too busy to answer."""
    asked = [process.ping.remote() for process in processes]
    answered, _ = ray.wait(asked, num_returns=len(asked), timeout=ANSWERS_WITHIN) if asked else ([], [])
    return [_error(each) if each in answered else None for each in asked]


def _error(answer: "ray.ObjectRef[None]") -> RayError | None:
    try:
        ray.get(answer)
    except RayError as error:
        return error
    return None


def unborn(words: str) -> UserError:
    """Return the error for processes that do not start. ``words``: Tune's record of their error, whose last line the
    message quotes.
    """
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    last = lines[-1] if lines else DIED
    lost = lost_disk(RuntimeError(last), "a worker's process does not start")
    return silent(f"a worker's process does not start: {one_line(RuntimeError(last))}") if lost is None else lost
