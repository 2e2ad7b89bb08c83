"""Why a process of the cluster died: by a crash of its own, for lack of memory, or with its machine."""

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
"""Seconds for which a machine that goes down may outlive the first of its processes."""

ANSWERS_WITHIN: Final = 10.0
"""Seconds within which Ray says how a process is."""

ANNOUNCED: Final = 3
"""The reason of a machine's end, among those that ``ray.nodes`` gives, where it was taken back."""

OUT_OF_MEMORY: Final = Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")


class Kernel:
    """The kernel of this machine, which kills processes where memory runs out, and counts them for all alike."""

    def __init__(self) -> None:
        self._kills = kernel_kills()

    def has_killed(self) -> bool:
        """Whether it has killed any since it was last asked."""
        before, self._kills = self._kills, kernel_kills()
        return self._kills > before


class Death:
    """The death of a ``process`` on a ``machine``, by the id of its node. ``error``: what Ray says of it; ``words``:
    what Tune has written down.

    Processes of a machine that is switched off die before the cluster misses it. So one that died elsewhere, of whose
    death Ray says no more, is not clear until its machine was asked whether it is still there, after some seconds.
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
        """Whether it is known by now why the process died."""
        return self._question is None or self._question.is_over()

    def fault(self) -> Fault:
        """What it died of."""
        if self._fault is not None:
            return self._fault
        if self._question is None or not isinstance(self._question.answer(), UserError):
            return Fault("crashed", DIED)
        return self._lost() or (Fault("preempted", TAKEN_BACK) if self._announced else Fault("lost", GONE))

    def _lost(self) -> Fault | None:
        """The loss of the machine; None where it is in the cluster."""
        node = next((each for each in nodes() if each["NodeID"] == self._machine), {"Alive": False})
        if node["Alive"]:
            return None
        announced = self._announced or node.get("DeathReason") == ANNOUNCED
        return Fault("preempted", TAKEN_BACK) if announced else Fault("lost", GONE)


def loss(error: BaseException | None) -> Fault | None:
    """The loss of a machine that Ray's error reports; None where it reports none, which may yet have been the cause."""
    if getattr(error, "preempted", False):
        return Fault("preempted", TAKEN_BACK)
    return Fault("lost", GONE) if isinstance(error, NodeDiedError | LocalRayletDiedError | ObjectLostError) else None


def failures(processes: Sequence[ActorHandle]) -> list[RayError | None]:
    """What Ray says of processes that died; None for one that lives, which may be too busy to answer."""
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
    """Of processes that do not start, the error with their last words."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    last = lines[-1] if lines else DIED
    lost = lost_disk(RuntimeError(last), "a worker's process does not start")
    return silent(f"a worker's process does not start: {one_line(RuntimeError(last))}") if lost is None else lost
