"""How soon each method finds the best of each recorded study, over many seeds.

Array legend: N draws, R seeds.
"""

import math
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from skipstack.search.api.simulation.repeats import BUDGET, Quartiles
from tests.benchmarks.schedulers.methods import METHODS, RECORDINGS, STUDIES, Recorded

SEEDS: Final = range(20)

FRESH_SEEDS: Final = range(100, 120)
"""That no choice of a default has seen."""

DRAWS: Final = 1000
"""Of seeds anew, for the spread of a figure."""


@dataclass(frozen=True, slots=True)
class Found:
    """A method on a study. ``until``: epochs until the best is found, as a share of the grid's, seed by seed, infinite
    where it is not; ``regret``: what is missing after a fifth of the grid's epochs, in points.
    """

    study: str
    method: str
    until: tuple[float, ...]
    regret: tuple[float, ...]

    @property
    def quartiles(self) -> Quartiles:
        """Of the shares."""
        return Quartiles.of(self.until)

    @property
    def missing(self) -> Quartiles:
        """Of the regret."""
        return Quartiles.of(self.regret)


def found(study: str, method: str, workers: int = 1, seeds: Iterable[int] = SEEDS) -> Found:
    """Run a method on a study with each seed."""
    recorded = Recorded.of(RECORDINGS / study)
    goal, factor = recorded.goal, abs(recorded.record.measure.factor)
    courses = [METHODS[method](recorded, seed, workers) for seed in seeds]
    return Found(
        study,
        method,
        tuple(goal.until(course) / goal.grid for course in courses),
        tuple(factor * goal.regret(course, BUDGET * goal.grid) for course in courses),
    )


def measured(
    methods: Iterable[str], workers: int = 1, *, studies: Iterable[str] = STUDIES, seeds: Iterable[int] = SEEDS
) -> list[Found]:
    """All methods on all studies, a process a core."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        pairs = list(product(methods, studies))
        of_studies, of_methods = [study for _, study in pairs], [method for method, _ in pairs]
        return list(pool.map(found, of_studies, of_methods, [workers] * len(pairs), [tuple(seeds)] * len(pairs)))


def worst(rows: Iterable[Found]) -> float:
    """The largest median of a method over the studies; infinite where the best is not found in one of them."""
    medians = [row.quartiles.median for row in rows]
    return max(math.inf if median is None else median for median in medians)


def spread(rows: Iterable[Found]) -> tuple[float, float]:
    """Between what the worst median lies in 95 of 100 draws of as many seeds from those that were run."""
    source = np.random.default_rng(0)
    of_studies = [np.array(row.until) for row in rows]
    worst_N = sorted(
        max(float(np.median(source.choice(until_R, size=len(until_R)))) for until_R in of_studies) for _ in range(DRAWS)
    )
    return worst_N[DRAWS // 40], worst_N[-DRAWS // 40 - 1]
