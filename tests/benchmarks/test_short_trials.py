"""What a trial of 50 ms costs on two cores: a function that sleeps, 200 times, by Optuna, Ray Tune and skipstack.

Seconds of wall time from the call that starts the search to its return, and the milliseconds of it that each trial has
beyond its share of the sleep. Each search runs in a process of its own, which has imported what it needs before.
"""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

TRIALS, SECONDS, CORES, ROUNDS = 200, 0.05, 2, 3

OPTUNA = """
import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    time.sleep(SECONDS)
    return (trial.suggest_float("x", -10, 10) - 2) ** 2


def search():
    storage = optuna.storages.RDBStorage("sqlite:///optuna.db") if STORED else None
    study = optuna.create_study(direction="minimize", storage=storage)
    study.optimize(objective, n_trials=TRIALS, n_jobs=JOBS)
"""

TUNE = """
import ray
from ray import tune


def objective(config):
    time.sleep(SECONDS)
    return {"loss": (config["x"] - 2) ** 2}


def search():
    settings = tune.TuneConfig(metric="loss", mode="min", num_samples=TRIALS)
    running = tune.RunConfig(storage_path=os.getcwd(), verbose=0)
    tune.Tuner(objective, param_space={"x": tune.uniform(-10, 10)}, tune_config=settings, run_config=running).fit()
"""

OURS = """
import skipstack


def objective(config):
    time.sleep(SECONDS)
    return (config["x"] - 2) ** 2


def search():
    space = skipstack.Space(x=skipstack.uniform(-10, 10))
    skipstack.search(space, objective, direction="minimize", trials=TRIALS, seeds=1, out="mine", engine=ENGINE)
"""

RUN = """
began = time.perf_counter()
search()
print("took", time.perf_counter() - began)
"""

SEARCHES = {
    "Optuna, in its process, one thread": (OPTUNA, {"JOBS": 1, "STORED": False}, 1),
    "Optuna, in its process, two threads": (OPTUNA, {"JOBS": 2, "STORED": False}, 2),
    "Optuna, two threads, recorded in SQLite": (OPTUNA, {"JOBS": 2, "STORED": True}, 2),
    "skipstack, in its process": (OURS, {"ENGINE": "serial"}, 1),
    "skipstack, Ray on two cores": (OURS, {"ENGINE": "ray"}, 2),
    "Ray Tune on two cores": (TUNE, {}, 2),
}
"""A program, its constants, and how many trials run at a time."""


def seconds(folder: Path, program: str, constants: dict[str, object]) -> float:
    """The wall time of one search."""
    folder.mkdir()
    given = {"SECONDS": SECONDS, "TRIALS": TRIALS, **constants}
    head = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    environment = {**os.environ, "RAY_ADDRESS": "local", "RAY_worker_niceness": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", f"import os, time\n{head}{program}{RUN}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(ran.stdout.rsplit("took", 1)[1])


def test_short_trials_of_three_programs(tmp_path: Path) -> None:
    rounds: dict[str, list[float]] = {name: [] for name in SEARCHES}
    for number in range(ROUNDS):  # in turns, so that all meet the same other programs
        for place, (name, (program, constants, _)) in enumerate(SEARCHES.items()):
            if number and program is TUNE:
                continue  # which takes minutes
            rounds[name].append(seconds(tmp_path / f"{place}-{number}", program, constants))
    rows = {}
    for name, (_, _, together) in SEARCHES.items():
        took = median(rounds[name])
        beyond = 1000 * (took - TRIALS * SECONDS / together) / TRIALS
        rows[name] = {"seconds": took, "ms a trial beyond its sleep": beyond}
    record("short trials", rows)
