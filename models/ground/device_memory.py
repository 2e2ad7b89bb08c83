"""The GPU memory that a process needs besides its tensors, and a limit on the GPU memory that a process takes."""

from typing import Final

import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import GPU_CONTEXT

WORKSPACE: Final = 32 * 2**20
"""Bytes of workspace that torch allocates for each pair of a cuBLAS handle and a stream on GPUs of compute capability
9, 10 and 12. On other GPUs torch allocates 8.1 MiB (``CublasHandlePool.cpp`` of torch 2.13).
"""

HANDLES: Final = 2
"""Number of cuBLAS handles: one for each thread that multiplies, ours and torch's backward thread."""

BEGUN: Final = 22 * 2**20
"""Bytes that torch reserves when a memory pool is first used: 2 MiB for small tensors and 20 MiB for others."""

BLOCK: Final = 512
"""Bytes of a block of torch's allocator; each tensor takes whole blocks."""


def device_memory(device: torch.device) -> int:
    """Return the total memory of a GPU in bytes. A device without an index means the current GPU."""
    return int(torch.cuda.get_device_properties(device).total_memory)


def room_of(share: float, memory: int) -> int:
    """Return the bytes left for tensors, after the CUDA context, in a process that has a ``share`` of a GPU.

    ``share``: a fraction in [0, 1]. ``memory``: the GPU's total memory in bytes. Raises UserError if nothing is left.
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
    """Limit this process to ``share`` of the memory of a GPU; None, or a share of 1 or more, means no limit.

    Does nothing if ``device`` is not a GPU. Raises UserError if the share leaves no memory for tensors (``room_of``).
    """
    if device.type != "cuda":
        return
    memory = device_memory(device)
    part = 1.0 if share is None or share >= 1 else room_of(share, memory) / memory
    number = torch.cuda.current_device() if device.index is None else device.index
    torch.cuda.set_per_process_memory_fraction(part, number)
