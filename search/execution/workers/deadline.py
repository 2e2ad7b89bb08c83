"""The time limit of a trial. The trial's own worker checks it, since no other process can end an epoch cleanly."""

import time
from collections.abc import Callable

from skipstack.search.execution.driver.faults import TimeOverError


class Deadline:
    """Counts down ``left``, the seconds that a trial may still train and evaluate."""

    def __init__(self, left: float) -> None:
        self.left = left

    def begin(self) -> Callable[[], None]:
        """Begin an epoch, and return a function that raises TimeOverError once the epoch exceeds the time left."""
        started = time.perf_counter()

        def tick() -> None:
            spent = time.perf_counter() - started
            if spent > self.left:
                raise TimeOverError(f"an epoch takes longer than the {self.left:.1f} s left of search.time_limit")

        return tick

    def spend(self, seconds: float) -> None:
        """Subtract the seconds of an epoch from the time left."""
        self.left -= seconds
