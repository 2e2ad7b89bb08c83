"""The systems that skipstack runs on, Linux and macOS: Windows is refused, and their differences are evened out."""

import os
import sys
from typing import Final

from skipstack.data.basis.errors import UserError

GPU_CONTEXT: Final = 700 * 2**20
"""Bytes that a process takes of a GPU before it holds a single tensor: the CUDA context and its libraries."""


def check_system() -> None:
    """Raises UserError on Windows, which has no ``fcntl``, by which a study's ledger is locked."""
    if sys.platform == "win32":
        raise UserError(
            "Windows: it lacks the locks that studies need (allowed: Linux, macOS, or Linux in Windows, WSL)"
        )


def address_limit() -> int | None:
    """Bytes of addresses that this process may use, as `ulimit -v` and batch systems limit them; None: no limit."""
    import resource  # which Windows lacks

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else most


def usable_cpus() -> int:
    """The number of CPUs that this process may use: on macOS all, since a process cannot be limited to some there."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> float | None:
    """The mean number of programs that ran or waited for a CPU in the last minute; None where it is not counted."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
