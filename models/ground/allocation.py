"""Lets the process reuse freed host memory."""

import ctypes
import sys
from functools import cache

KEPT = 2**30
"""The value in bytes of both glibc parameters below. Smaller allocations come from the heap, and the free memory at the
end of the heap is returned to the system only if it exceeds this value."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The numbers of the two parameters in glibc's ``mallopt``."""


@cache
def keep_freed_memory() -> None:
    """Let this process reuse the memory that it frees: each step allocates the same large tensors as the step before.

    By default glibc returns freed tensors' memory to the system, which clears it before it is allocated again. That
    takes up to a tenth of a step of a large network. Does nothing where the allocator is not glibc's.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
