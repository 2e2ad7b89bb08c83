"""How long a study waits for the next point of a Gaussian process on `flagship`, after thousands of trials."""

import os
import platform
import time

import numpy as np
import optuna
import pytest

from skipstack.search.strategy.proposers.gaussian_process import GaussianProcess
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Space

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

RUNNING = 8


@pytest.mark.parametrize("objectives", [1, 2])
def test_the_wait_for_a_point(objectives: int, capsys: pytest.CaptureFixture[str]) -> None:
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
    with capsys.disabled():
        seconds = ", ".join(f"{1000 * waits[trials]:.0f} ms after {trials:,} trials" for trials in waits)
        print(
            f"\n{os.cpu_count()} cores, {platform.machine()}, optuna {optuna.__version__}, {len(space.domains)} axes, "
            f"{RUNNING} trials running, objectives: {objectives}: {seconds}"
        )
    assert waits[1500] < 3 * waits[100]
