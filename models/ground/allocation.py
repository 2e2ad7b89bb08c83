"""Lets the process reuse freed host memory."""

import ctypes
import sys
from functools import cache

KEPT = 2**30
"""Value of the two ``mallopt`` parameters below, in bytes. Allocations below this size come from the heap. The free end
of the heap is returned to the system only if it is larger than this size."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The numbers of the two parameters in glibc's ``mallopt``."""


@cache
def keep_freed_memory() -> None:
    """Let this process reuse the memory that it frees: each training step allocates large tensors of the same sizes.

    By default glibc returns such memory to the system, which zeroes the memory before reuse. Zeroing takes up to a
    tenth of a step of a large network. Does nothing with other allocators.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
