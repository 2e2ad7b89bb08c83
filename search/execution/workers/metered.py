"""Workers that also measure their use of the machine (``Usage`` in ``search/ledger/events.py``)."""

import os
import socket
from dataclasses import dataclass, replace
from typing import final

import psutil

from skipstack.search.ledger.events import Usage
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers


@final
@dataclass(frozen=True)
class MeteredWorkers(Workers):
    """Creates workers that train exactly like the workers of ``workers``, and measure their use of the machine."""

    workers: Workers

    def __call__(self, task: TrialTask) -> Worker:
        """Create a worker that also measures its use of the machine."""
        return MeteredWorker(task, self.workers(task))

    def test(self, task: TrialTask) -> Measured:
        """Measure on the test split with ``workers``."""
        return self.workers.test(task)


@final
class MeteredWorker(Worker):
    """Trains with ``worker``, and adds the use of the machine to the result of each epoch. If an epoch's result is only
    read from a checkpoint, the use of the machine while reading is measured.
    """

    def __init__(self, task: TrialTask, worker: Worker) -> None:
        super().__init__(task)
        self._worker = worker

    def run_epoch(self) -> EpochResult | None:
        """Train the next epoch, and return its result with its usage; None if there is no further epoch."""
        process = psutil.Process()
        for percent in (process.cpu_percent, psutil.cpu_percent):
            percent()  # the next call returns the use since this one
        result = self._worker.run_epoch()
        if result is None:
            return None
        machine = psutil.virtual_memory()
        usage = Usage(
            machine=socket.gethostname(),
            process=os.getpid(),
            process_cpu=process.cpu_percent(),
            process_memory=process.memory_info().rss,
            machine_cpu=psutil.cpu_percent(),
            machine_memory=machine.used,
            machine_memory_total=machine.total,
            **_of_gpu(self.task.device),
        )
        return replace(result, usage=usage)

    def close(self) -> None:
        """Close the inner worker."""
        self._worker.close()


def _of_gpu(device: str) -> dict[str, float | int | None]:
    """The usage of the GPU that trains a trial, as fields of ``Usage``; empty on a CPU."""
    from skipstack.models.ground.device import choose_device, gpu_usage  # torch is loaded only where trials are trained

    chosen = choose_device(device)
    if chosen.type != "cuda":
        return {}
    busy, used, total = gpu_usage(chosen)
    return {"gpu": busy, "gpu_memory": used, "gpu_memory_total": total}
