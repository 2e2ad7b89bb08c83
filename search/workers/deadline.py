"""The time that a trial may train, watched from within: nothing outside can end an epoch in order."""

import time
from collections.abc import Callable

from skipstack.search.driver.faults import TimeOverError


class Deadline:
    """``left`` seconds of training and evaluation, spent epoch by epoch."""

    def __init__(self, left: float) -> None:
        self.left = left

    def begin(self) -> Callable[[], None]:
        """An epoch begins; the answer raises TimeOverError once it lasts longer than what is left."""
        started = time.perf_counter()

        def tick() -> None:
            spent = time.perf_counter() - started
            if spent > self.left:
                raise TimeOverError(f"an epoch takes longer than the {self.left:.1f} s left of search.time_limit")

        return tick

    def spend(self, seconds: float) -> None:
        """An epoch took so long."""
        self.left -= seconds
