"""The run of a trial as its function has it: what is logged there, and that the study's own runs stay as they are."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from mlflow.entities import Run

from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import ReportError, TrackedRun
from skipstack.search.publishing.tracking import trial_runs
from skipstack.search.publishing.tracking.private_store import lay_tables
from skipstack.search.publishing.tracking.trial_runs import TrialRuns
from skipstack.search.study.task import TrialTask
from skipstack.spaces.function import FunctionConfig, FunctionSource

CONFIG = FunctionConfig(function=FunctionSource(name="objective", file="train.py", source="0" * 16))
EXPERIMENT = "skipstack/objective"


class Store:
    """A store with the run of trial 3, as the study writes it."""

    def __init__(self, folder: Path) -> None:
        database = folder / "mlflow.db"
        lay_tables(database)
        self.uri = f"sqlite:///{database}"
        self.client = mlflow.MlflowClient(self.uri)
        self.experiment = self.client.create_experiment(EXPERIMENT, artifact_location=(folder / "files").as_uri())
        tags = {"skipstack.study": "abc", "skipstack.trial": "3"}
        self.trial = self.client.create_run(self.experiment, tags=tags, run_name="trial 3").info.run_id
        self.client.log_param(self.trial, "x", "0.5")

    def of(self, call: int, seeds: tuple[int, ...]) -> TrackedRun:
        task = TrialTask(
            number=3, config=CONFIG, seeds=seeds, order_seed=0, lanes="auto", folder=Path("trial"), device="cpu"
        )
        return TrialRuns(self.uri, EXPERIMENT, "abc")(task, call)

    def runs(self) -> list[Run]:
        return list(self.client.search_runs([self.experiment]))

    def run(self) -> Run:
        return self.client.get_run(self.trial)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mine.db")
    yield Store(tmp_path)
    assert mlflow.active_run() is None
    assert mlflow.get_tracking_uri() == f"sqlite:///{tmp_path}/mine.db", "the user's own store is set again"
    assert os.environ["MLFLOW_TRACKING_URI"] == f"sqlite:///{tmp_path}/mine.db"
    assert not (tmp_path / "mine.db").exists()


@pytest.fixture(params=["MLflow's stack", "no stack"])
def stack(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """MLflow with its private stack of active runs, and with another name for it."""
    if request.param == "no stack":
        monkeypatch.setattr(trial_runs, "STACK", "_a_name_that_no_version_has")
    return str(request.param)


def test_of_one_call_it_is_the_trial_s_run_which_goes_on(store: Store, tmp_path: Path, stack: str) -> None:
    with store.of(0, seeds=(0,)) as run:
        assert run.id == store.trial
        mlflow.log_metric("inner", 0.5, step=2)
        mlflow.log_text("a figure", "figure.txt")
    (found,) = store.runs()
    assert found.data.metrics == {"inner": 0.5}
    assert found.info.status == "RUNNING"
    assert found.info.end_time is None or stack == "no stack"
    assert [each.read_text() for each in (tmp_path / "files").rglob("figure.txt")] == ["a figure"]


def test_what_the_study_says_of_its_end_stays(store: Store, stack: str) -> None:
    run = store.of(0, seeds=(0,)).begin()
    store.client.set_terminated(store.trial, "FAILED", end_time=12345)
    run.end(failed=False)
    assert (store.run().info.status, store.run().info.end_time) == ("FAILED", 12345)


def test_each_of_several_calls_has_a_run_below_that_of_the_trial(store: Store) -> None:
    for seed in (1, 2):
        with store.of(seed, seeds=(1, 2)):
            mlflow.log_param("own", seed)
    store.of(1, seeds=(1, 2)).begin().end(failed=True)  # another attempt at the trial
    below = {each.info.run_name: each for each in store.runs() if each.info.run_id != store.trial}
    assert {each.data.tags["mlflow.parentRunId"] for each in below.values()} == {store.trial}
    assert {name: each.data.params["own"] for name, each in below.items()} == {
        "trial 3, seed 1": "1",
        "trial 3, seed 2": "2",
    }
    assert {name: each.info.status for name, each in below.items()} == {
        "trial 3, seed 1": "FAILED",
        "trial 3, seed 2": "FINISHED",
    }
    assert "skipstack.study" not in below["trial 3, seed 1"].data.tags, "the study takes it for none of its own"


@pytest.mark.slow
def test_the_study_s_store_is_set_until_the_last_run_ends(store: Store) -> None:
    """Calls take turns in threads, each with an active run of its own."""
    first = store.of(1, seeds=(1, 2)).begin()

    def second() -> None:
        with store.of(2, seeds=(1, 2)):
            mlflow.log_metric("inner", 2.0)

    thread = threading.Thread(target=second)
    thread.start()
    thread.join()
    mlflow.log_metric("inner", 1.0)
    first.end()
    assert {each.info.run_name: each.data.metrics.get("inner") for each in store.runs()} == {
        "trial 3": None,
        "trial 3, seed 1": 1.0,
        "trial 3, seed 2": 2.0,
    }


def test_a_store_that_is_not_here_is_told_in_a_line(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_runs, "PATIENCE", 0.0)
    task = TrialTask(number=4, config=CONFIG, seeds=(0,), order_seed=0, lanes="auto", folder=tmp_path, device="cpu")
    elsewhere = f"sqlite:///{tmp_path}/elsewhere/mlflow.db"
    for uri, says in (
        (elsewhere, f"{elsewhere} is a file that this machine does not see (allowed: a study with tracking_uri= of a"),
        (f"sqlite:///{tmp_path}/absent.db", "no run of trial 4 after 0 s (the study has not begun it)"),
        (store.uri, "no run of trial 4 after 0 s (the study has not begun it)"),
        ("http://127.0.0.1:9", "no run of trial 4"),
    ):
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with pytest.raises(ReportError) as told:
            TrialRuns(uri, EXPERIMENT, "abc")(task, 0).begin()
        assert says in str(told.value)
        assert len(str(told.value).splitlines()) == 1
    assert not (tmp_path / "absent.db").exists()


def test_without_a_store_it_is_refused(tmp_path: Path) -> None:
    task = TrialTask(number=4, config=CONFIG, seeds=(0,), order_seed=0, lanes="auto", folder=tmp_path, device="cpu")
    worker = FunctionWorkers(lambda _, report: report.mlflow_run)(task)
    with pytest.raises(ReportError, match="the study is not recorded in MLflow"):
        worker.run_epoch()
