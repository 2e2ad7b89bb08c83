"""The token of a cluster: one of our own, or the user's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.search.execution.engines.ray.token import MODE, TOKENS, _read_anew, authenticated

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend
tells_anew = pytest.mark.skipif(_read_anew() is None, reason="this Ray cannot be told to look for its token again")


@pytest.fixture(autouse=True)
def _ray_reads_the_rest_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Once the environment is as it was before the test."""
    yield
    monkeypatch.undo()
    with authenticated(own=False):
        pass


@tells_anew
def test_whoever_has_no_token_has_one_for_a_while_and_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (MODE, *TOKENS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    tokens = set()
    for _ in range(2):
        with authenticated(own=True):
            tokens.add(os.environ["RAY_AUTH_TOKEN"])
        assert "RAY_AUTH_TOKEN" not in os.environ
    assert {len(token) for token in tokens} == {64}
    assert len(tokens) == 2
    assert list(tmp_path.iterdir()) == []


@tells_anew
@pytest.mark.parametrize("where", [*TOKENS, "file"])
def test_the_users_own_token_stays(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (MODE, *TOKENS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if where == "file":
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").touch()
    else:
        monkeypatch.setenv(where, "mine")
    before = dict(os.environ)
    with authenticated(own=True):
        assert dict(os.environ) == before | {MODE: "token"}
    assert dict(os.environ) == before


@tells_anew
@pytest.mark.parametrize(("said", "own"), [(None, True), (None, False), ("disabled", True), ("token", False)])
def test_ray_reads_the_mode_and_the_token_of_the_moment_though_it_was_imported_before(
    said: str | None, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it reads at the start of a cluster, and when it joins one."""
    from ray._private.authentication import authentication_token_setup as authentication

    def read() -> tuple[bool, bool]:
        loader = authentication.AuthenticationTokenLoader.instance()
        asks = authentication.get_authentication_mode() == authentication.AuthenticationMode.TOKEN
        return asks, loader.has_token(ignore_auth_mode=True)

    for name in (MODE, *TOKENS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if said is not None:
        monkeypatch.setenv(MODE, said)
    with authenticated(own=False):
        pass
    before = read()
    assert before == (said == "token", False)
    with authenticated(own=own):
        assert read() == (said != "disabled", own)
    assert read() == before


def test_where_ray_cannot_be_told_to_look_again_the_environment_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would ask others for a token, and show none."""
    monkeypatch.setitem(sys.modules, "ray._private.authentication.authentication_token_setup", None)
    before = dict(os.environ)
    with authenticated(own=True):
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
