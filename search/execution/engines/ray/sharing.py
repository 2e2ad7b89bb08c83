"""The rule by which trials share a process of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from skipstack.search.study.task import TrialTask


@dataclass(frozen=True, slots=True)
class Sharing:
    """Says which trials share a slot: up to ``most`` trials of one program. ``program_of`` returns the program of a
    trial, or None for a trial with a slot to itself. A program is a task with the lanes (copies of the network, one per
    seed) of all its trials.
    """

    most: int = 1
    program_of: Callable[[TrialTask], TrialTask | None] = lambda task: None


ALONE: Final = Sharing()
