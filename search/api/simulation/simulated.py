"""An engine that trains nothing: it replays recorded curves on a simulated clock."""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from statistics import fmean
from typing import final

from skipstack.search.api.simulation.recordings import LANES
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.study.task import EpochResult

Curve = Sequence[EpochResult]


@final
class SimulatedEngine(Engine):
    """Replays recorded curves on simulated parallel workers. A worker gets the next trial as soon as it is free.

    ``curves``: the recorded curve of each config, by the config's hash (``identity``). ``workers``: the number of
    workers. An epoch takes its recorded seconds; everything else takes no time. Epochs that end at the same time are
    reported in the order in which they began.
    """

    def __init__(self, curves: Mapping[str, Curve], *, workers: int) -> None:
        self.now = 0.0
        """Simulated seconds since the start."""
        self._curves = curves
        self._idle = workers
        self._begun = 0
        self._running: list[tuple[float, int, int, EpochResult, Iterator[EpochResult]]] = []

    def run(self, driver: Driver) -> None:
        """Replay trials until no trial runs and the driver has no more to start."""
        self._fill(driver)
        while self._running:
            self.now, _, number, result, rest = heapq.heappop(self._running)
            if driver.report(number, result).action == "continue":
                self._train(driver, number, rest)
            else:
                self._idle += 1
            self._fill(driver)  # a report may promote another trial

    def _fill(self, driver: Driver) -> None:
        while self._idle and (task := driver.next()) is not None:
            self._idle -= 1
            rest = islice(self._curves[task.config.identity], task.reported, None)
            self._train(
                driver, task.number, map(partial(_of_seeds, seeds=len(task.seeds), earlier=len(task.earlier)), rest)
            )

    def _train(self, driver: Driver, number: int, rest: Iterator[EpochResult]) -> None:
        result = next(rest, None)
        if result is None:  # a function returned before its last epoch
            driver.returned(number)
            self._idle += 1
            return
        self._begun += 1
        heapq.heappush(self._running, (self.now + result.seconds, self._begun, number, result, rest))


def _of_seeds(result: EpochResult, seeds: int, earlier: int) -> EpochResult:
    """Restrict a recorded epoch of all seeds to the ``seeds`` after the first ``earlier``, with their mean score and
    their share of the seconds. A score that is not finite is kept.
    """
    recorded = len(result.metrics[LANES])
    if seeds == recorded:
        return result
    own = {name: lanes[earlier : earlier + seeds] for name, lanes in result.metrics.items()}
    score = fmean(own[LANES]) if math.isfinite(result.score) else result.score
    return replace(result, score=score, metrics=own, seconds=result.seconds * seeds / recorded)
