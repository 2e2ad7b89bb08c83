"""Devices: choosing one, its clock and its use."""

import time
from contextlib import AbstractContextManager, nullcontext

import torch

from skipstack.data.basis.errors import NoGpuError

SIMULATED = "simulated"
"""The type of the simulated device (``models/conformance/accelerator/simulated.py``)."""


CAPTURED = "cuda-graphs"
"""The name of a study's device if training steps are captured: a GPU (``models/training/captured.py``)."""


def choose_device(name: str) -> torch.device:
    """The torch device by name; ``auto`` takes a GPU if there is one. Raises NoGpuError where a GPU is asked for and
    there is none.
    """
    present = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if present else "cpu")
    kind = "cuda" if name == CAPTURED else name
    if kind == "cuda" and not present:
        raise NoGpuError(f"--device {name}: no GPU here (allowed: auto, cpu)")
    return torch.device(kind)


def current(device: torch.device) -> AbstractContextManager[object]:
    """A context in which ``device`` is the current GPU, on which streams, graphs and Triton's kernels are created and
    launched. Torch's own operations do not need it: they run where their tensors are.
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def clock(device: torch.device) -> float:
    """The time in seconds, once ``device`` has finished its work: a GPU computes on while the program continues."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def gpu_usage(device: torch.device) -> tuple[float | None, int, int]:
    """A GPU's utilisation in percent over the last second or less, None if the driver does not report it; its used and
    its total memory in bytes. All processes count.
    """
    from pynvml import NVMLError  # only monitoring needs it, not training

    free, total = torch.cuda.mem_get_info(device)
    try:
        busy = float(torch.cuda.utilization(device))
    except (NVMLError, RuntimeError):  # such as a part of a GPU (MIG)
        busy = None
    return busy, total - free, total
