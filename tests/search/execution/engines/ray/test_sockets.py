"""Where Ray keeps its sockets: folders of every length, played and on a real cluster."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.ray import sockets
from skipstack.search.execution.engines.ray.sockets import LONGEST, SESSION, session_folder
from skipstack.search.study.record.reading import read_study


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a short name, which is the only place where another may be made."""
    place = Path(tempfile.mkdtemp(prefix="s-", dir="/tmp"))
    monkeypatch.setattr(sockets, "SHORT", ("/none", str(place)))
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    yield place
    shutil.rmtree(place)


def test_the_folder_lies_with_other_temporary_files_as_long_as_a_socket_can_be_made_there(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for surplus in (0, 1):
        chosen = short / ("n" * (LONGEST - len(str(short)) - 1 + surplus))
        monkeypatch.setenv("TMPDIR", str(chosen))
        with session_folder() as folder, socket.socket(socket.AF_UNIX) as made:
            assert folder.parent == (short if surplus else chosen)
            assert not list(folder.iterdir())
            assert folder.stat().st_mode & 0o777 == 0o700
            longest = Path(f"{folder}{SESSION}")
            longest.parent.mkdir(parents=True)
            made.bind(str(longest))
            with pytest.raises(OSError, match="too long"), socket.socket(socket.AF_UNIX) as longer:
                longer.bind(f"{chosen / folder.name}{SESSION}{'' if surplus else 'n'}")
        assert not folder.exists()


def test_the_folder_goes_also_where_a_process_still_writes_into_it(short: Path) -> None:
    writes = "import itertools, pathlib, sys\nfor n in itertools.count(): pathlib.Path(sys.argv[1], str(n)).touch()"
    with session_folder() as folder:
        process = subprocess.Popen([sys.executable, "-c", writes, folder], stderr=subprocess.DEVNULL)
        while not list(folder.iterdir()):
            assert process.poll() is None
    assert not folder.exists()
    process.wait(timeout=60)


def test_where_no_folder_will_do_one_line_says_which_would(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = short / "file"
    file.touch()
    for unusable in (short / ("n" * 100), file / "below"):
        monkeypatch.setenv("TMPDIR", str(unusable))
        with session_folder() as made:
            assert made.parent == short
    monkeypatch.setattr(sockets, "SHORT", ("/none", str(file)))
    said = rf"TMPDIR: got {file}/below, where Ray .* at most {LONGEST} bytes"
    with pytest.raises(UserError, match=said), session_folder():
        pass


@pytest.mark.cluster
def test_a_study_runs_where_the_folder_for_temporary_files_has_a_long_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("n" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    study, root, own = tmp_path / "study", Path(__file__).parents[5], set[Path]()
    with subprocess.Popen([sys.executable, "-m", "tests.search.toy_on_ray", study], cwd=root) as running:
        while running.poll() is None:
            own |= set(Path("/tmp").glob(f"skipstack-*/ray/session_*_{running.pid}"))
            time.sleep(0.1)
    assert running.returncode == 0
    assert read_study(study).finished
    assert own
    assert not any(folder.parents[1].exists() for folder in own), "its folder is removed"


@pytest.mark.cluster
@pytest.mark.parametrize("how", ["finishes", "is interrupted"])
def test_a_study_of_this_machine_listens_to_it_alone_and_leaves_no_session(
    how: str, short: Path, tmp_path: Path
) -> None:
    (users := short / "ray" / "session_of_the_user").mkdir(parents=True)
    program = [sys.executable, "-m", "tests.search.execution.engines.ray.listening", tmp_path / "study", how]
    environment = {**os.environ, "TMPDIR": str(short), "PYTHONPATH": "src"}
    root = Path(__file__).parents[5]
    told = subprocess.run(program, cwd=root, env=environment, check=True, timeout=250, capture_output=True, text=True)
    found = json.loads(told.stdout)
    assert {name for name, _ in found} >= {"gcs_server", "raylet"}
    assert [pair for pair in found if not ip_address(pair[1].removeprefix("::ffff:")).is_loopback] == []
    assert sorted(short.rglob("*")) == [users.parent, users]
    assert read_study(tmp_path / "study").finished == (how == "finishes")
