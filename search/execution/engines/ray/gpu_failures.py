"""The GPUs of a cluster: those that fail trial after trial are left alone, so that no further trials train there."""

import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import ray

from skipstack.search.execution.engines.capacity import Machines

IN_A_ROW: Final = 3
"""Number of failures in a row, without a result in between, after which a GPU is left alone."""

TRIALS_IN_A_ROW: Final = 2
"""Number of different trials that must be among these failures: a single one may be the cause itself."""


@dataclass(frozen=True, slots=True)
class ProcessGpus:
    """The GPUs that a process on a machine may use, by their numbers there; none if Ray gave it none.

    ``machine``: the id of its node; ``name``: for people.
    """

    machine: str
    name: str
    gpus: tuple[str, ...]

    @property
    def words(self) -> str:
        """The GPUs in words: ``GPU 3 of machine HOST (ADDRESS)``."""
        if not self.gpus:
            return f"machine {self.name}"
        return f"GPU{'s' if len(self.gpus) > 1 else ''} {' and '.join(self.gpus)} of machine {self.name}"


@lru_cache(maxsize=1)
def own_gpus() -> ProcessGpus:
    """The GPUs of this process of the cluster."""
    here = ray.get_runtime_context()
    name = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
    return ProcessGpus(here.get_node_id(), name, tuple(here.get_accelerator_ids().get("GPU", ())))


class GpuFailures:
    """The state of a cluster's GPUs while a study runs: failures in a row, and which GPUs are left alone.

    Ray cannot be told which GPU of a machine to assign, so slots without work keep others off a GPU that is left alone
    (``StudyLoop``).
    """

    def __init__(self) -> None:
        self._row: dict[ProcessGpus, list[int]] = {}
        """The trials that broke on each GPU since its last result."""
        self._worked: set[ProcessGpus] = set()
        self._alone: set[ProcessGpus] = set()

    def worked(self, gpus: ProcessGpus) -> None:
        """Note that a GPU returned an epoch or a measurement."""
        self._row.pop(gpus, None)
        self._worked.add(gpus)

    def has_worked(self, gpus: ProcessGpus) -> bool:
        """Whether a GPU ever returned a result."""
        return gpus in self._worked

    def broke(self, gpus: ProcessGpus, trial: int) -> bool:
        """Note that a process with this trial broke on a GPU; returns whether that GPU is left alone from now on."""
        row = self._row.setdefault(gpus, [])
        row.append(trial)
        if self.is_left_alone(gpus) or len(row) < IN_A_ROW or len(set(row)) < TRIALS_IN_A_ROW:
            return False
        self._alone.add(gpus)
        return True

    def has_broken(self, gpus: ProcessGpus, trial: int) -> bool:
        """Whether a trial broke on a GPU since the last result from there."""
        return trial in self._row.get(gpus, ())

    def is_left_alone(self, gpus: ProcessGpus) -> bool:
        """Whether a GPU should get no more trials."""
        return gpus in self._alone

    def left(self, machines: Machines) -> Machines:
        """The machines without the GPUs that are left alone."""
        if not self._alone:
            return machines
        found = {}
        for machine, (name, has) in machines.items():
            if not any(each.machine == machine and not each.gpus for each in self._alone):
                found[machine] = (name, {**has, "GPU": max(0.0, has.get("GPU", 0.0) - len(self._gone(machine)))})
        return found

    def _gone(self, machine: str) -> set[str]:
        return {gpu for each in self._alone if each.machine == machine for gpu in each.gpus}
