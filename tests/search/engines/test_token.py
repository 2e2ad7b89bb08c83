"""The token of a cluster of our own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.search.engines.token import VARIABLES, own_token


def test_whoever_has_no_token_has_one_for_a_while_and_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    tokens = set()
    for _ in range(2):
        with own_token():
            tokens.add(os.environ["RAY_AUTH_TOKEN"])
        assert "RAY_AUTH_TOKEN" not in os.environ
    assert {len(token) for token in tokens} == {64}
    assert len(tokens) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", [*VARIABLES, "file"])
def test_the_users_own_token_stays(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if where == "file":
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").touch()
    else:
        monkeypatch.setenv(where, "mine")
    before = dict(os.environ)
    with own_token():
        assert dict(os.environ) == before
    assert dict(os.environ) == before


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_a_notebook_that_has_imported_ray_and_has_no_token_runs_one_study_after_another(tmp_path: Path) -> None:
    code = """
import ray, skipstack
small = {"data.corpus.train": 60, "data.corpus.dev": 30, "data.corpus.test": 30, "model.stack.hidden": 8}
for out in ("one", "two"):
    assert skipstack.search("quickstart", trials=2, epochs=1, seeds=1, settings=small, out=out).finished
    assert not ray.is_initialized()
"""
    without = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    environment = {**without, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert not (tmp_path / ".ray").exists()
