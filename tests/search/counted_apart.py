"""What trials take of a GPU, counted by a process that has trained nothing: one that has cannot count."""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType
from unittest.mock import patch

from skipstack.search.api.planning.memory import memory_of
from skipstack.search.study.task import TrialTask


def counted_apart(tasks: Sequence[TrialTask]) -> list[int]:
    """The bytes of each. The process runs no main program: a test may have put another in the place of this one's."""
    nothing = {"__main__": ModuleType("__main__")}
    with patch.dict(sys.modules, nothing), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return list(apart.map(memory_of, tasks))
