"""What a process takes of a GPU beside the tensors of its network, and the limit that keeps it within its share."""

from typing import Final

import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import GPU_CONTEXT

WORKSPACE: Final = 32 * 2**20
"""Bytes that torch gives cuBLAS for each pair of a handle and a stream: those on NVIDIA's generations 9, 10 and 12;
8.1 MiB on others (``CublasHandlePool.cpp`` of torch 2.13).
"""

HANDLES: Final = 2
"""Of a process: each thread that multiplies has one, which are ours, and torch's that goes back through a network."""

BEGUN: Final = 22 * 2**20
"""Bytes of a pool that torch takes from the GPU at once and may not need: 2 MiB for small tensors, 20 for others."""

BLOCK: Final = 512
"""Tensors take whole blocks of so many bytes."""


def device_memory(device: torch.device) -> int:
    """The memory of a GPU, in bytes; without a number, of the first of this process."""
    return int(torch.cuda.get_device_properties(device).total_memory)


def room_of(share: float, memory: int) -> int:
    """Bytes of tensors for a process that has ``share`` of a GPU with so much ``memory``, its context beside them.

    Raises UserError where there is no room for any.
    """
    left = int(share * memory) - GPU_CONTEXT
    if left <= 0:
        least = GPU_CONTEXT / memory
        raise UserError(
            f"--gpus-per-trial: {share:g} of a GPU with {memory / 1e9:.1f} GB is less than a process takes before it "
            f"trains (allowed here: above {least:.3f})"
        )
    return left


def limit_memory(device: torch.device, share: float | None) -> None:
    """Limit this process to its share of a GPU; None, or all of one: no limit. Raises UserError as ``room_of``."""
    if device.type != "cuda":
        return
    memory = device_memory(device)
    part = 1.0 if share is None or share >= 1 else room_of(share, memory) / memory
    torch.cuda.set_per_process_memory_fraction(part, _numbered(device))


def _numbered(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index
