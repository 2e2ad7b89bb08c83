"""An engine without workers: recorded curves, replayed on a simulated clock."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import final

from search.driver import Driver
from search.events import Metrics
from search.serial import Engine
from search.task import EpochResult, TrialTask

Curve = Sequence[EpochResult]


@final
class SimulatedEngine(Engine):
    """``workers`` that train side by side; each is given the next trial at the moment when it is free.

    ``curves``: by the identity of the config. An epoch takes the seconds that it took when it was recorded, all else
    takes none. What happens at the same time happens in the order in which the epochs began.
    """

    def __init__(self, curves: Mapping[str, Curve], *, workers: int) -> None:
        self.now = 0.0
        """Seconds since the beginning."""
        self._curves = curves
        self._idle = workers
        self._begun = 0
        self._running: list[tuple[float, int, int, EpochResult, Iterator[EpochResult]]] = []

    def run(self, driver: Driver) -> None:
        """Until no trial runs and none is left."""
        self._fill(driver)
        while self._running:
            self.now, _, number, result, rest = heapq.heappop(self._running)
            if driver.report(number, result).action == "continue":
                self._train(number, rest)
            else:
                self._idle += 1
            self._fill(driver)  # a report may let another trial go on, whatever becomes of its own

    def test(self, tasks: Sequence[TrialTask]) -> Iterator[tuple[int, Metrics]]:
        """Nothing: only dev was recorded for all trials."""
        return iter(())

    def _fill(self, driver: Driver) -> None:
        while self._idle and (task := driver.next()) is not None:
            self._idle -= 1
            self._train(task.number, islice(self._curves[task.config.identity], task.reported, None))

    def _train(self, number: int, rest: Iterator[EpochResult]) -> None:
        result = next(rest)
        self._begun += 1
        heapq.heappush(self._running, (self.now + result.seconds, self._begun, number, result, rest))
