"""The rule by which trials share a process of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from skipstack.search.study.task import TrialTask


@dataclass(frozen=True, slots=True)
class Sharing:
    """Says which trials share a slot: up to ``most`` trials that can train as one batched program. ``program_of``
    describes the program of a trial as one task with the lanes (copies of the network, one per seed) of ``most`` such
    trials. It returns None for a trial with a slot to itself. Trials share a slot if their programs are equal.
    """

    most: int = 1
    program_of: Callable[[TrialTask], TrialTask | None] = lambda task: None


ALONE: Final = Sharing()
