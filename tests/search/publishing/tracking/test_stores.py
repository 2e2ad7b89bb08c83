"""Which store is chosen, and which MLflow itself would open."""

import sqlite3
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import optuna
import pytest
from packaging.version import Version

import skipstack
from skipstack.dashboards.commands.next_steps import to_look_at
from skipstack.data.basis.errors import UserError
from skipstack.search.api.options import Execution
from skipstack.search.publishing.tracking.runs import experiment_of
from skipstack.search.publishing.tracking.stores import (
    chosen_store,
    database_file,
    from_anywhere,
    sqlite_uri,
)
from tests.command_line import refusal, typed
from tests.search.publishing.tracking.here import Recording
from tests.search.publishing.tracking.studies import STUDY, history


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
        ("mysql+oursql://host/runs", "SQLAlchemy takes no such address .*oursql"),
        ("postgresql+psycopg2://ann:secret@host:x/runs", "SQLAlchemy takes no such address"),
    ],
)
def test_what_mlflow_would_refuse_later_is_refused_before_anything_is_trained(uri: str, wrong: str) -> None:
    with pytest.raises(UserError, match=f"--tracking-uri: .*{wrong}"):
        Execution(tracking_uri=uri)


def test_a_database_whose_python_module_is_missing_is_refused_before_anything_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(UserError, match="--tracking-uri: the Python module psycopg2 is missing"):
        Execution(tracking_uri="postgresql+psycopg2://host/runs")


def test_the_environment_counts_and_an_option_wins_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (chosen_store(None), experiment_of(STUDY)) == (None, f"skipstack/{STUDY.name}")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://everywhere")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "ours")
    assert (Execution().store, experiment_of(STUDY)) == ("https://everywhere", "ours")
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


QUOTES = Version(version("sqlalchemy")) >= Version("2.1")
"""Whether SQLAlchemy opens a database whose path has a ``?``."""

ODD = "what? 50%, 100%41 #1" if QUOTES else "50%, 100%41 #1"
"""A folder whose name has the characters that mean something in a URI."""


@pytest.mark.slow
def test_nothing_is_written_beside_a_study_whose_path_has_characters_of_uris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    monkeypatch.chdir(tmp_path)

    def objective(config: dict[str, float], report: skipstack.Report) -> None:
        assert report.mlflow_run.id
        report(score=config["x"])

    out = tmp_path / ODD / "study"
    space = skipstack.Space(x=skipstack.uniform(0, 1))
    skipstack.search(space, objective, out=out, trials=2, engine="serial")
    assert [path.name for path in tmp_path.iterdir()] == [ODD]
    assert [path.name for path in (tmp_path / ODD).iterdir()] == ["study"]
    with closing(sqlite3.connect(out / "mlflow.db")) as connection:
        trials = connection.execute("SELECT DISTINCT value FROM tags WHERE key = 'skipstack.trial'").fetchall()
        assert sorted(trials) == [("0",), ("1",)]
    client = MlflowClient(sqlite_uri(out / "mlflow.db"))
    (named,) = client.search_experiments(filter_string="name LIKE 'skipstack/%'")
    runs = client.search_runs([named.experiment_id])
    files = {file.path for run in runs for file in client.list_artifacts(run.info.run_id)}
    assert {"config.json", "study.json"} <= files
    assert f"'{sqlite_uri(out / 'mlflow.db')}'" in "".join(to_look_at(out, private_runs=True))

    storage = sqlite_uri(tmp_path / ODD / "optuna.db")
    assert typed("export", out, "--optuna", storage).code == 0
    (summary,) = optuna.get_all_study_summaries(storage)
    assert summary.n_trials == 2
    unquoted = refusal("export", out, "--optuna", f"sqlite:///{tmp_path}/what?/optuna.db")
    assert "%3F for a ? of the path" in unquoted
    assert sorted(path.name for path in (tmp_path / ODD).iterdir()) == ["optuna.db", "study"]
    assert [path.name for path in tmp_path.iterdir()] == [ODD]


def test_a_path_in_the_uri_of_an_sqlite_store_is_the_one_that_sqlalchemy_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import make_url

    for name in ("plain é #1", ODD):
        here = tmp_path / name
        here.mkdir()
        monkeypatch.chdir(here)
        uri = sqlite_uri(here / "mlflow.db")
        assert make_url(uri).database == str(here / "mlflow.db")
        assert database_file(uri) == here / "mlflow.db"
        assert from_anywhere("sqlite:///mlflow.db?timeout=60") == f"{uri}?timeout=60"
    assert sqlite_uri(tmp_path / "plain é #1") == f"sqlite:///{tmp_path}/plain é #1"
    if not QUOTES:
        with pytest.raises(UserError, match=r"SQLAlchemy before 2\.1 opens no database whose path has a \?"):
            sqlite_uri(tmp_path / "what?" / "mlflow.db")
    with pytest.raises(UserError, match=r"--tracking-uri: got .*allowed: %3F for a . of the path"):
        chosen_store("sqlite:////srv/what?/runs.db")
