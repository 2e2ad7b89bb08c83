"""An engine without workers: recorded curves, replayed on a simulated clock."""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean
from typing import final

from skipstack.search.driver.driver import Driver
from skipstack.search.driver.engine import Engine
from skipstack.search.driver.measuring_on_test import Measurement
from skipstack.search.driver.task import EpochResult, Measured, TrialTask
from skipstack.search.simulation.recordings import LANES

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
                self._train(driver, number, rest)
            else:
                self._idle += 1
            self._fill(driver)  # a report may let another trial go on, whatever becomes of its own

    def test(self, measurements: Sequence[Measurement]) -> Iterator[tuple[int, Measured]]:
        """Nothing: only dev was recorded for all trials."""
        return iter(())

    def _fill(self, driver: Driver) -> None:
        while self._idle and (task := driver.next()) is not None:
            self._idle -= 1
            self._train(driver, task.number, _rest(self._curves[task.config.identity], task))

    def _train(self, driver: Driver, number: int, rest: Iterator[EpochResult]) -> None:
        result = next(rest, None)
        if result is None:  # a function returned before its last epoch
            driver.returned(number)
            self._idle += 1
            return
        self._begun += 1
        heapq.heappush(self._running, (self.now + result.seconds, self._begun, number, result, rest))


def _rest(curve: Curve, task: TrialTask) -> Iterator[EpochResult]:
    """What a worker would report of the task."""
    for result in islice(curve, task.reported, None):
        yield _of_seeds(result, task.seeds)


def _of_seeds(result: EpochResult, seeds: tuple[int, ...]) -> EpochResult:
    """What an epoch would have been of some of its seeds: their mean score, and their share of the seconds."""
    scores = result.metrics[LANES]
    if len(seeds) == len(scores):
        return result
    own = tuple(scores[seed] for seed in seeds)
    score = fmean(own) if math.isfinite(result.score) else result.score
    return replace(result, score=score, metrics={LANES: own}, seconds=result.seconds * len(own) / len(scores))
