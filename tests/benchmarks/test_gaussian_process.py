"""How long a study waits for the next point of a Gaussian process on `flagship`, after thousands of trials."""

import time

import numpy as np
import pytest

from skipstack.search.strategy.proposers.gaussian_process import GaussianProcess
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Space
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

RUNNING = 8


@pytest.mark.parametrize("objectives", [1, 2])
def test_the_wait_for_a_point(objectives: int) -> None:
    space, source = Space(load_study("flagship")[0].space), np.random.default_rng(0)
    waits = {}
    for trials in (100, 500, 1500):
        process = GaussianProcess(space, 0, objectives)
        for number in range(trials + RUNNING):
            process.proposed(number, space.sample(source))
            if number < trials:
                score, *further = (float(value) for value in source.random(objectives))
                process.ended(number, "completed", [(1, score)], tuple(further))
        process.ask(trials + RUNNING)
        started = time.process_time()
        process.ask(trials + RUNNING)
        waits[trials] = time.process_time() - started
    name = {1: "one objective", 2: "two objectives"}[objectives]
    record("many points", {name: {f"{trials:,} trials": 1000 * each for trials, each in waits.items()}}, "ms")
    assert waits[1500] < 3 * waits[100]
