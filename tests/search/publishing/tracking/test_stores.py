"""Which store is chosen, and which MLflow itself would open."""

from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.api.options import Execution
from skipstack.search.publishing.tracking.stores import chosen_store, experiment
from tests.search.publishing.tracking.here import Recording
from tests.search.publishing.tracking.studies import history


@pytest.fixture
def everything_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "/Users/ann/skipstack")


@pytest.mark.parametrize(
    "uri",
    [
        "databricks",
        "databricks://profile",
        "file:/srv/runs",
        "file:///srv/runs",
        "file:runs",
        "runs",
        "/srv/runs",
        "sqlite:////srv/runs.db",
        "postgresql+psycopg2://host/runs",
        "mysql://host/runs",
        "https://host",
    ],
)
def test_what_mlflow_has_a_store_for_is_taken(uri: str, everything_allowed: None) -> None:
    from mlflow.tracking._tracking_service.utils import _tracking_store_registry

    assert _tracking_store_registry.get_store_builder(uri) is not None
    assert chosen_store(uri) == uri


@pytest.mark.parametrize("uri", ["htp://host", "uc:profile", "databricks-uc", "ann:secret@host"])
def test_what_mlflow_has_none_for_is_refused(uri: str, everything_allowed: None) -> None:
    with pytest.raises(UserError, match="--tracking-uri: unknown kind of store") as refused:
        chosen_store(uri)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("uri", "wrong"),
    [
        ("runs", "MLFLOW_ALLOW_FILE_STORE=true"),
        ("file:///srv/runs", "MLFLOW_ALLOW_FILE_STORE=true"),
        ("databricks", "MLFLOW_EXPERIMENT_NAME in the environment, as in /Users/YOU"),
        ("http:host", "got http: without //"),
    ],
)
def test_what_mlflow_would_refuse_later_is_refused_before_anything_is_trained(uri: str, wrong: str) -> None:
    with pytest.raises(UserError, match=f"--tracking-uri: .*{wrong}"):
        Execution(tracking_uri=uri)


def test_the_environment_counts_and_an_option_wins_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (chosen_store(None), experiment("skipstack/toy")) == (None, "skipstack/toy")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://everywhere")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "ours")
    assert (Execution().store, experiment("skipstack/toy")) == ("https://everywhere", "ours")
    assert Execution(tracking_uri="https://here").store == "https://here"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "htp://everywhere")
    with pytest.raises(UserError, match="MLFLOW_TRACKING_URI: unknown kind of store 'htp'"):
        Execution()


def test_runs_are_written_into_a_folder_and_an_experiment_of_the_environment(
    tmp_path: Path, everything_allowed: None
) -> None:
    from mlflow import MlflowClient

    uri = f"file:{tmp_path / 'runs'}"
    tracker = Recording(uri, history())
    assert tracker.close() is None
    client = MlflowClient(uri)
    found = client.get_experiment_by_name("/Users/ann/skipstack")
    assert found is not None
    assert len(client.search_runs([found.experiment_id])) == 6
