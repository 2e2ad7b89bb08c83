"""Where numbers are computed."""

import time

import torch

from skipstack.data.basis.errors import UserError

SIMULATED = "simulated"
"""The type of the device that is not there (``models/conformance/accelerator/simulated.py``)."""


CAPTURED = "cuda-graphs"
"""What a study's device is called where steps of training are captured: a GPU (``models/training/captured.py``)."""


def choose_device(name: str) -> torch.device:
    """``auto`` takes a GPU where there is one; others are taken at their word, UserError where no GPU is."""
    present = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if present else "cpu")
    kind = "cuda" if name == CAPTURED else name
    if kind == "cuda" and not present:
        raise UserError(f"--device {name}: no GPU here (allowed: auto, cpu)")
    return torch.device(kind)


def clock(device: torch.device) -> float:
    """Seconds, read once ``device`` has done all that it was asked for: a GPU works on while the program goes on."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def device_memory() -> int:
    """Bytes of the first GPU of this process. Raises UserError where torch finds none."""
    return int(torch.cuda.get_device_properties(choose_device("cuda")).total_memory)


def gpu_usage(device: torch.device) -> tuple[float | None, int, int]:
    """Of a GPU: percent of the last second or less in which it computed, None where the driver does not say; bytes that
    are taken, and all it has. By whatever processes.
    """
    from pynvml import NVMLError  # training alone does without it

    free, total = torch.cuda.mem_get_info(device)
    try:
        busy = float(torch.cuda.utilization(device))
    except (NVMLError, RuntimeError):  # such as a part of a GPU (MIG)
        busy = None
    return busy, total - free, total


def limit_memory(device: torch.device, limit: int | None) -> None:
    """Let this process hold tensors of at most ``limit`` bytes on a GPU; None: as many as there is room for."""
    if device.type == "cuda":
        part = 1.0 if limit is None else min(1.0, limit / device_memory())
        torch.cuda.set_per_process_memory_fraction(part)
