"""Measures the GPU memory of trials in a new process, since a process that has trained cannot measure it."""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType
from unittest.mock import patch

from skipstack.search.api.planning.memory import memory_of
from skipstack.search.study.task import TrialTask


def counted_apart(tasks: Sequence[TrialTask]) -> list[int]:
    """Return the bytes of each task. The process runs no main program, since a test may have replaced this one's."""
    nothing = {"__main__": ModuleType("__main__")}
    with patch.dict(sys.modules, nothing), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return list(apart.map(memory_of, tasks))
