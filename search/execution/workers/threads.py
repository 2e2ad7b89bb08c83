"""Warns if torch uses more threads in a user's function than the trial has CPUs. This slows other trials."""

import sys
import warnings
from functools import lru_cache


def warn_of_threads(cpus: int) -> None:
    """Warn, once in a process, if torch uses more threads than the ``cpus`` of a trial. Does not import torch."""
    torch = sys.modules.get("torch")
    if torch is not None and (threads := torch.get_num_threads()) > cpus:
        _warn(threads, cpus)


@lru_cache(maxsize=1)
def _warn(threads: int, cpus: int) -> None:
    warnings.warn(
        f"torch computes on {threads} threads, and the trial has {cpus} of the CPUs "
        f"(allowed: torch.set_num_threads({cpus}), or cpus_per_trial={threads})",
        stacklevel=3,
    )
