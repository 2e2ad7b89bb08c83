"""The tables that are copied are those that MLflow makes."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from mlflow import MlflowClient

from skipstack.search.publishing.tracking import private_store
from skipstack.search.publishing.tracking.private_store import lay_tables


def content(database: Path) -> tuple[list[tuple[str, list[str]]], dict[str, int]]:
    """What the tables are, and the rows of each; migrations write constraints in any order, so words are sorted."""
    with closing(sqlite3.connect(database)) as connection:
        made = connection.execute("SELECT name, type || ' ' || coalesce(sql, '') FROM sqlite_master").fetchall()
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}
    return sorted((name, sorted(re.findall(r"\w+", said))) for name, said in made), rows


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a cache"
    monkeypatch.setattr(private_store, "user_cache_path", lambda *_, **__: folder)
    return folder


@pytest.mark.slow
def test_they_are_those_that_mlflow_makes_but_for_its_default_experiment(cache: Path, tmp_path: Path) -> None:
    MlflowClient(f"sqlite:///{tmp_path}/own.db").search_experiments()
    theirs, their_rows = content(tmp_path / "own.db")
    for name in ("first.db", "second.db"):
        lay_tables(tmp_path / name)
        made, rows = content(tmp_path / name)
        assert made == theirs
        assert rows == {**their_rows, "experiments": 0}
    (experiment,) = MlflowClient(f"sqlite:///{tmp_path}/first.db").search_experiments()
    assert experiment.name == "Default"
    assert [path.suffix for path in cache.iterdir()] == [".db"]
    assert {path.name for path in tmp_path.iterdir()} == {cache.name, "own.db", "first.db", "second.db"}


def test_a_store_that_is_there_is_left_alone(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_bytes(b"of others")
    lay_tables(tmp_path / "mlflow.db")
    assert (tmp_path / "mlflow.db").read_bytes() == b"of others"
    assert not cache.exists()


@pytest.mark.slow
def test_a_store_that_another_opens_meanwhile_stays_the_one_that_it_writes_to(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_tables(tmp_path / "first.db")
    copyfile, database = shutil.copyfile, tmp_path / "mlflow.db"

    def copied_late(*paths: Path) -> Path:
        copied = copyfile(*paths)
        with closing(sqlite3.connect(database)) as other, other:
            other.execute("CREATE TABLE others (name)")
        return copied

    monkeypatch.setattr(shutil, "copyfile", copied_late)
    lay_tables(database)
    assert content(database)[1] == {"others": 0}
    assert {path.name for path in tmp_path.iterdir()} == {cache.name, "first.db", "mlflow.db"}


def test_without_a_cache_they_are_left_to_mlflow(cache: Path, tmp_path: Path) -> None:
    cache.write_text("no folder")
    lay_tables(tmp_path / "mlflow.db")
    assert not (tmp_path / "mlflow.db").exists()


def test_without_the_table_of_experiments_they_are_left_to_mlflow(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_store, "connected", lambda uri: SimpleNamespace(search_experiments=list))
    lay_tables(tmp_path / "mlflow.db")
    assert not (tmp_path / "mlflow.db").exists()
