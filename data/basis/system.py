"""Refuses Windows, and hides the differences between Linux and macOS."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

from skipstack.data.basis.errors import UserError

GPU_CONTEXT: Final = 700 * 2**20
"""An estimate of the GPU memory, in bytes, that CUDA's context and libraries take in a process without tensors."""


RAY_NICENESS: Final = "RAY_worker_niceness"
"""The environment variable with the niceness that Ray gives its workers; 15 if it is not set."""

Result = TypeVar("Result")


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


def niceness() -> int:
    """The niceness of this process, from -20 to 19. A process of higher niceness gives way to other processes."""
    return os.getpriority(os.PRIO_PROCESS, 0)


def niceness_on_ray() -> int:
    """The niceness of trials on a Ray cluster that this process starts: the value of ``RAY_NICENESS`` (15 if it is not
    set), or the niceness of this process if that is higher.

    Raises UserError if the environment variable ``RAY_NICENESS`` is not an integer from 0 to 19.
    """
    given = os.environ.get(RAY_NICENESS, "15")
    if not given.isdecimal() or int(given) > 19:
        raise UserError(f"{RAY_NICENESS}: got {given!r} (allowed: an integer from 0 to 19)")
    return max(niceness(), int(given))


def at_niceness(number: int, work: Callable[[], Result]) -> Result:
    """Call ``work`` at niceness ``number`` if that is above the niceness of this process. The process keeps its own.

    The niceness is set for a new thread, which only Linux can do. On macOS, ``work`` is called at the old niceness.
    """
    if number <= niceness() or sys.platform != "linux":
        return work()
    with ThreadPoolExecutor(1, initializer=os.setpriority, initargs=(os.PRIO_PROCESS, 0, number)) as thread:
        return thread.submit(copy_context().run, work).result()
