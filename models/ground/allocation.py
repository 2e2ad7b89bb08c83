"""Memory of the host that was freed, and where the next tensor comes from."""

import ctypes
import sys
from functools import cache

KEPT = 2**30
"""Bytes of freed memory that a process keeps, at most."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's ``mallopt``."""


@cache
def keep_freed_memory() -> None:
    """Let this process reuse what it frees: a step makes the same large tensors as the one before.

    By itself glibc gives them back to the system each time, which clears them before it gives them again: up to a
    tenth of a step of a large network. Another allocator is left as it is.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
