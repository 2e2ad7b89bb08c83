"""Rules by which trials share a process of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from skipstack.search.study.task import TrialTask


@dataclass(frozen=True, slots=True)
class Sharing:
    """The rule of sharing: up to ``most`` trials of one program are in a slot at a time. ``program_of`` returns the
    program of a trial, as one trial with all of its lanes; None: the trial has a slot to itself.
    """

    most: int = 1
    program_of: Callable[[TrialTask], TrialTask | None] = lambda task: None


ALONE: Final = Sharing()
