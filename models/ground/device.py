"""Chooses the torch device, times its work, and measures the utilisation of a GPU."""

import time
from contextlib import AbstractContextManager, nullcontext

import torch

from skipstack.data.basis.errors import NoGpuError, UserError, unknown

SIMULATED = "simulated"
"""Torch's type name for the simulated device (``models/conformance/accelerator/simulated.py``)."""


CAPTURED = "cuda-graphs"
"""The device name for a GPU on which training steps are captured as CUDA graphs (``models/training/captured.py``)."""

DEVICES = ("auto", "cpu", "cuda", CAPTURED)
"""The names of devices that a user may choose."""


def choose_device(name: str) -> torch.device:
    """Return the torch device called ``name``. ``auto`` is a GPU if there is one, or else the CPU.

    Raises NoGpuError if ``name`` demands a GPU and there is none, and UserError for an unknown name.
    """
    present = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if present else "cpu")
    if name not in (*DEVICES, SIMULATED):
        raise UserError(unknown("device", name, DEVICES))
    kind = "cuda" if name == CAPTURED else name
    if kind == "cuda" and not present:
        raise NoGpuError(f"--device {name}: no GPU here (allowed: auto, cpu)")
    return torch.device(kind)


def current(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which ``device`` is torch's current GPU. If ``device`` is no GPU, the context has no effect.

    Streams, CUDA graphs and Triton kernels run on the current GPU. Torch's own operations run where their tensors are,
    and do not need this context.
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def clock(device: torch.device) -> float:
    """Return the time in seconds, after ``device`` has finished its queued work (a GPU computes asynchronously)."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def gpu_usage(device: torch.device) -> tuple[float | None, int, int]:
    """Return a GPU's utilisation in percent, its used memory and its total memory in bytes, over all processes.

    The utilisation covers the last second or less; it is None if the driver does not report it.
    """
    from pynvml import NVMLError  # needed only for monitoring, not for training

    free, total = torch.cuda.mem_get_info(device)
    try:
        busy = float(torch.cuda.utilization(device))
    except (NVMLError, RuntimeError):  # for example, no utilisation is known for a MIG slice of a GPU
        busy = None
    return busy, total - free, total
