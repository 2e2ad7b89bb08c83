"""Counts failures of a cluster's GPUs, and excludes GPUs that fail repeatedly (``left alone`` in messages)."""

import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import ray

from skipstack.search.execution.engines.capacity import Machines

IN_A_ROW: Final = 3
"""Number of failures in a row, without a result in between, after which a GPU is excluded."""

TRIALS_IN_A_ROW: Final = 2
"""Minimum number of different trials among the ``IN_A_ROW`` failures, since a single trial may be the cause."""


@dataclass(frozen=True, slots=True)
class ProcessGpus:
    """The GPUs that a process may use. ``machine``: the node id of its machine. ``name``: the machine's name for the
    user. ``gpus``: the numbers of the GPUs on that machine; empty if Ray gave the process none.
    """

    machine: str
    name: str
    gpus: tuple[str, ...]

    @property
    def words(self) -> str:
        """The GPUs in words, such as ``GPU 3 of machine HOST (ADDRESS)``."""
        if not self.gpus:
            return f"machine {self.name}"
        return f"GPU{'s' if len(self.gpus) > 1 else ''} {' and '.join(self.gpus)} of machine {self.name}"


@lru_cache(maxsize=1)
def own_gpus() -> ProcessGpus:
    """The GPUs that this process, an actor of the cluster, may use."""
    here = ray.get_runtime_context()
    name = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
    return ProcessGpus(here.get_node_id(), name, tuple(here.get_accelerator_ids().get("GPU", ())))


class GpuFailures:
    """Records which GPUs return results and which fail, and excludes GPUs that fail repeatedly. Ray does not let a
    caller choose a GPU. So ``StudyLoop`` occupies an excluded GPU with a slot without work, to keep other slots off.
    """

    def __init__(self) -> None:
        self._row: dict[ProcessGpus, list[int]] = {}
        """The trials that broke on each GPU since its last result, in order."""
        self._worked: set[ProcessGpus] = set()
        self._alone: set[ProcessGpus] = set()

    def worked(self, gpus: ProcessGpus) -> None:
        """Record that a GPU returned an epoch or a measurement."""
        self._row.pop(gpus, None)
        self._worked.add(gpus)

    def has_worked(self, gpus: ProcessGpus) -> bool:
        """Whether a GPU ever returned a result."""
        return gpus in self._worked

    def broke(self, gpus: ProcessGpus, trial: int) -> bool:
        """Record that a trial broke on a GPU. Return whether the GPU is excluded from now on, but was not before."""
        row = self._row.setdefault(gpus, [])
        row.append(trial)
        if self.is_left_alone(gpus) or len(row) < IN_A_ROW or len(set(row)) < TRIALS_IN_A_ROW:
            return False
        self._alone.add(gpus)
        return True

    def has_broken(self, gpus: ProcessGpus, trial: int) -> bool:
        """Whether a trial broke on a GPU since the GPU's last result."""
        return trial in self._row.get(gpus, ())

    def is_left_alone(self, gpus: ProcessGpus) -> bool:
        """Whether a GPU is excluded."""
        return gpus in self._alone

    def left(self, machines: Machines) -> Machines:
        """Return the machines without excluded GPUs. A machine on which processes without a GPU failed repeatedly is
        left out.
        """
        if not self._alone:
            return machines
        found = {}
        for machine, (name, has) in machines.items():
            if not any(each.machine == machine and not each.gpus for each in self._alone):
                found[machine] = (name, {**has, "GPU": max(0.0, has.get("GPU", 0.0) - len(self._gone(machine)))})
        return found

    def _gone(self, machine: str) -> set[str]:
        return {gpu for each in self._alone if each.machine == machine for gpu in each.gpus}
