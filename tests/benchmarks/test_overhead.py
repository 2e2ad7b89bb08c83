"""What a trial costs that trains nothing: the whole stack, beside plain Ray Tune, in one run."""

import logging
import sqlite3
import time
import warnings
from contextlib import closing
from pathlib import Path

import pytest
import ray
from ray import tune
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.tune.schedulers import ASHAScheduler

from skipstack.search.api.options import Execution
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from tests.benchmarks.page import record
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600), pytest.mark.filterwarnings("default")]

TRIALS, PLAIN_TRIALS, EPOCHS, LIMIT_MS = 100, 12, 3, 100


class PlainTrainable(tune.Trainable):  # type: ignore[misc]
    """What a plain Ray Tune script would train, doing nothing; it imports torch as every such script does."""

    def setup(self, config: dict[str, float]) -> None:
        import torch

        self.torch = torch
        self.epoch = 0

    def step(self) -> dict[str, float]:
        self.epoch += 1
        return {"score": 1 - 0.5**self.epoch}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        (Path(checkpoint_dir) / "nothing").touch()


def wait_for_the_first_run(database: Path) -> None:
    """Until MLflow is imported and its new store holds the study: seconds that a study pays once, not each trial."""
    while True:
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
                if connection.execute("select count(*) from runs").fetchone()[0]:
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.2)


def ours(path: Path) -> tuple[float, float]:
    """Milliseconds a trial: from the first end to the last, and with everything written to MLflow as well."""
    folder = open_toy(path, toy_study(trials=TRIALS, epochs=EPOCHS))
    engine = RayEngine(ToyWorker, address=None, gpus_per_trial=0)
    with closing(engine), Ledger(folder.ledger) as ledger:
        tracker = TrackingProcess()
        Execution().track(tracker, folder)
        wait_for_the_first_run(folder.runs_database)
        run_study(toy_driver(folder, ledger), engine)
        assert tracker.close() is None
        tracker.end()
        written = time.time()
        ends = [event.time for event in ledger.read() if event.kind == "ended"]
    return 1000 * (ends[-1] - ends[0]) / (TRIALS - 1), 1000 * (written - ends[0]) / (TRIALS - 1)


def plain(path: Path) -> float:
    """Milliseconds a trial of Ray Tune's own ASHA with fresh actors and its MLflow callback."""
    ends: list[float] = []

    class Clock(tune.Callback):  # type: ignore[misc]
        def on_trial_complete(self, *_: object, **__: object) -> None:
            ends.append(time.time())

    uri = f"sqlite:///{path / 'mlflow.db'}"
    ray.init(address="local")
    tune.Tuner(
        tune.with_resources(PlainTrainable, {"cpu": 1}),
        param_space={"learning_rate": tune.loguniform(1e-4, 1)},
        tune_config=tune.TuneConfig(
            num_samples=PLAIN_TRIALS,
            scheduler=ASHAScheduler(metric="score", mode="max", max_t=EPOCHS, grace_period=1, reduction_factor=2),
        ),
        run_config=tune.RunConfig(
            storage_path=str(path),
            verbose=0,
            stop={"training_iteration": EPOCHS},
            callbacks=[Clock(), MLflowLoggerCallback(tracking_uri=uri, experiment_name="plain")],
        ),
    ).fit()
    return 1000 * (ends[-1] - ends[0]) / (PLAIN_TRIALS - 1)


def test_a_trial_costs_little_beside_what_it_trains(tmp_path: Path) -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    trial, recorded = ours(tmp_path / "study")
    theirs = plain(tmp_path)
    ray.shutdown()
    alone, recorded_too = "from the first end to the last", "until everything is recorded"
    rows = {"skipstack": {alone: trial, recorded_too: recorded}, "plain Ray Tune": {alone: theirs}}
    record("trial", rows, "ms a trial")
    assert recorded <= LIMIT_MS
