"""Refuses Windows, and hides the differences between the systems that skipstack runs on, Linux and macOS."""

import os
import sys
from typing import Final

from skipstack.data.basis.errors import UserError

GPU_CONTEXT: Final = 700 * 2**20
"""An estimate of the GPU memory, in bytes, that a process takes for CUDA's context and libraries before it holds a
tensor."""


def check_system() -> None:
    """Raise UserError on Windows, which lacks ``fcntl``, the module that locks a study's ledger."""
    if sys.platform == "win32":
        raise UserError(
            "Windows: it lacks the locks that studies need (allowed: Linux, macOS, or Linux in Windows, WSL)"
        )


def address_limit() -> int | None:
    """The limit of this process's address space in bytes, set by ``ulimit -v`` or a batch system; None if unlimited."""
    import resource  # Windows lacks this module

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else most


def usable_cpus() -> int:
    """The number of CPUs that this process may use. On macOS it is all CPUs, since processes cannot be limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> float | None:
    """The mean number of processes that ran or waited for a CPU in the last minute; None if the system lacks it."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
