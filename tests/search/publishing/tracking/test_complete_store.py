"""A finished study is resumed without MLflow, as long as its own store is as it was when it had all of the study."""

from pathlib import Path

import pytest
from mlflow import MlflowClient

from skipstack.search.api import run
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from tests.command_line import typed
from tests.search.functions import rising, searched

PUBLISH = run.Run.publish  # before ``tests/conftest.py`` replaces it


class Counted(TrackingProcess):
    """The process that talks to MLflow, which counts how often it is started."""

    started = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).started += 1


def started(folder: Path, monkeypatch: pytest.MonkeyPatch, *command: object) -> tuple[int, str]:
    """How often MLflow's process is started by a command, and what the command prints to stderr."""
    with monkeypatch.context() as counting:
        counting.setattr(run, "TrackingProcess", Counted)
        counting.setattr(run.Run, "publish", PUBLISH)
        Counted.started = 0
        answer = typed(*(command or ("resume", folder)))
        assert answer.code == 0
        return Counted.started, answer.error


def runs(folder: Path) -> list[str]:
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    (experiment,) = (each for each in client.search_experiments() if each.name != "Default")
    return [each.info.run_id for each in client.search_runs([experiment.experiment_id])]


@pytest.mark.slow
def test_mlflow_is_asked_again_once_its_store_or_the_ledger_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    searched(folder, rising, trials=3, seeds=2)
    asked, first = started(folder, monkeypatch)
    again, second = started(folder, monkeypatch)
    assert (asked, again) == (1, 0)
    assert "in MLflow:" in first
    assert first[first.index("also:") :] == second[second.index("also:") :]
    whole = set(runs(folder))
    MlflowClient(f"sqlite:///{folder}/mlflow.db").set_tag(min(whole), "mine", "a note")
    assert started(folder, monkeypatch)[0] == 1
    assert started(folder, monkeypatch)[0] == 0
    (folder / "mlflow.db").unlink()
    assert started(folder, monkeypatch)[0] == 1
    assert len(runs(folder)) == len(whole)
    assert started(folder, monkeypatch, "sync", folder)[0] == 1
    assert started(folder, monkeypatch)[0] == 0
