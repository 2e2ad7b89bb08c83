"""Finds out why a process of the cluster died: by a crash, for lack of memory, or because its machine was lost."""

import time
from collections.abc import Callable, Sequence
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
"""Seconds for which a machine that shuts down may still be in the cluster after its first process has died."""

ANSWERS_WITHIN: Final = 10.0
"""Seconds to wait for processes to answer whether they live."""

CLAIMED_WITHIN: Final = 30.0
"""Seconds for which a kill by the kernel may explain a death. Deaths are handled one after another, and each may take
up to ``ANSWERS_WITHIN``. A kill that no death has claimed by then was of another program.
"""

ANNOUNCED: Final = 3
"""Value of ``DeathReason`` in ``ray.nodes`` for a machine whose removal was announced."""

OUT_OF_MEMORY: Final = Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")


class Kernel:
    """Counts the processes, of any program, that the kernel of this machine kills because memory runs out. Each kill
    explains one death. Call ``look`` often: the time of a kill is that of the first look at it.

    ``kills`` returns the number of kills so far. ``clock`` returns seconds.
    """

    def __init__(self, kills: Callable[[], int] = kernel_kills, clock: Callable[[], float] = time.monotonic) -> None:
        self._kills = kills
        self._clock = clock
        self._counted = kills()
        self._unclaimed: list[float] = []
        """The times of the kills that explain no death yet."""

    def look(self) -> None:
        """Count the new kills, and forget those that no death has claimed within ``CLAIMED_WITHIN``."""
        now, counted = self._clock(), max(self._kills(), self._counted)
        self._unclaimed += [now] * (counted - self._counted)
        self._unclaimed = [each for each in self._unclaimed if now - each <= CLAIMED_WITHIN]
        self._counted = counted

    def claim(self) -> bool:
        """Claim a kill for a death. Returns whether there is one, so that the death was for lack of memory."""
        self.look()
        has_killed = bool(self._unclaimed)
        del self._unclaimed[:1]
        return has_killed


class Death:
    """Finds the cause of the death of ``process``. ``machine``: the node id of its machine. ``error``: Ray's error,
    if any. ``words``: Tune's record of the error. ``kernel``: counts kills for lack of memory on this machine.

    When a machine is switched off, its processes die before the cluster notices. So after a death without a known cause
    on another machine, a task of some seconds is sent to that machine. Until the task has succeeded or failed, the
    cause is unclear.
    """

    def __init__(self, process: ActorHandle, machine: str, error: RayError | None, words: str, kernel: Kernel) -> None:
        check_this_machine()
        self._machine = machine
        is_here = machine == ray.get_runtime_context().get_node_id()
        self._fault = loss(error)
        self._question: Question[None] | None = None
        if self._fault is not None:
            return
        self._announced = machine in draining()
        if (gone := self._lost()) is not None:
            self._fault = gone
        elif isinstance(error, OutOfMemoryError) or says_out_of_memory(f"{words}\n{error}"):
            self._fault = OUT_OF_MEMORY  # Ray ended the process, or the process itself said so
        elif is_here and kernel.claim():
            self._fault = OUT_OF_MEMORY
        elif not is_here:
            there = NodeAffinitySchedulingStrategy(machine, soft=False)
            self._question = Question(partial(time.sleep, GOING), max_retries=0, scheduling_strategy=there)

    def is_clear(self) -> bool:
        """Whether the cause of death is known."""
        return self._question is None or self._question.is_over()

    def fault(self) -> Fault:
        """Wait for the cause of death, and return it as a fault."""
        if self._fault is not None:
            return self._fault
        if self._question is None or not isinstance(self._question.answer(), UserError):
            return Fault("crashed", DIED)
        return self._lost() or (Fault("preempted", TAKEN_BACK) if self._announced else Fault("lost", GONE))

    def _lost(self) -> Fault | None:
        """Return the loss of the process's machine as a fault; None if the machine is still in the cluster."""
        node = next((each for each in nodes() if each["NodeID"] == self._machine), {"Alive": False})
        if node["Alive"]:
            return None
        announced = self._announced or node.get("DeathReason") == ANNOUNCED
        return Fault("preempted", TAKEN_BACK) if announced else Fault("lost", GONE)


def loss(error: BaseException | None) -> Fault | None:
    """Return the loss of a machine, as a fault, if ``error`` reports one. None does not exclude a loss."""
    if getattr(error, "preempted", False):
        return Fault("preempted", TAKEN_BACK)
    return Fault("lost", GONE) if isinstance(error, NodeDiedError | LocalRayletDiedError | ObjectLostError) else None


def failures(processes: Sequence[ActorHandle]) -> list[RayError | None]:
    """Return Ray's error for each process; None for a process that lives or is too busy to answer."""
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
    """Return the error for processes that do not start, with the last line of Tune's record, ``words``."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    last = lines[-1] if lines else DIED
    lost = lost_disk(RuntimeError(last), "a worker's process does not start")
    return silent(f"a worker's process does not start: {one_line(RuntimeError(last))}") if lost is None else lost
