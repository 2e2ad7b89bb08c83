"""What a report costs at a rung that thousands of trials have reached, several objectives being ranked by dominance."""

import time

import numpy as np
import pytest

from skipstack.search.strategy.objectives.pareto import places
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha, Promotion
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

TRIALS, LAST = 4_000, 100


def points(name: str) -> list[tuple[float, float]]:
    """Independent objectives; or such that no point dominates another, which is the worst case."""
    drawn_N2 = np.random.default_rng(0).random((TRIALS, 2))
    if name == "one front":
        drawn_N2[:, 1] = 1 - drawn_N2[:, 0]
    return [(float(score), float(size)) for score, size in drawn_N2]


@pytest.mark.parametrize("name", ["independent", "one front"])
@pytest.mark.parametrize("make", [Asha, Promotion])
def test_the_cost_of_a_report(name: str, make: type[Asha | Promotion]) -> None:
    scheduler, drawn = make(AshaConfig(), 9), points(name)
    for trial, (score, size) in enumerate(drawn):
        if trial == TRIALS - LAST:
            started = time.process_time()
        scheduler.weigh(trial, (size,))
        scheduler.report(trial, 1, score)
        scheduler.promotable()
    last = (time.process_time() - started) / LAST
    started = time.process_time()
    places(drawn)
    definition = time.process_time() - started
    column = {Asha: "ASHA", Promotion: "ASHA with promotions"}[make]
    record("objectives", {f"{name}, {column}": {"a report": 1000 * last, "all anew": 1000 * definition}}, "ms")
    assert last < definition / 5
