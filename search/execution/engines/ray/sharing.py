"""Which trials share a process of the cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from skipstack.search.study.task import TrialTask


@dataclass(frozen=True, slots=True)
class Sharing:
    """``most`` trials of one program are in a slot at a time. ``program_of`` gives that of a trial, as one trial with
    all of its lanes; None: it has a slot to itself.
    """

    most: int = 1
    program_of: Callable[[TrialTask], TrialTask | None] = lambda task: None


ALONE: Final = Sharing()
