"""What a worker took of its machine while it trained an epoch."""

from pydantic import NonNegativeInt

from skipstack.data.basis.frozen import Frozen


class Usage(Frozen):
    """In an epoch: of the ``process`` (its number) that trained it, of its ``machine``, and of the GPU that it used.

    ``process_cpu``: percent of one core, over the epoch; ``machine_cpu``: percent of all cores, by whatever ran there.
    Memory is in bytes, as it was at the epoch's end. ``gpu``: percent of the time, as the driver saw it then, by all
    that used the GPU; None where it does not say it, as of a part of a GPU (MIG). What is of a GPU is None without one.
    """

    machine: str
    process: NonNegativeInt
    process_cpu: float
    process_memory: NonNegativeInt
    machine_cpu: float
    machine_memory: NonNegativeInt
    machine_memory_total: NonNegativeInt
    gpu: float | None = None
    gpu_memory: NonNegativeInt | None = None
    gpu_memory_total: NonNegativeInt | None = None
