"""Where Ray keeps its sockets: folders of every length, played and on a real cluster."""

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.engines.ray import sockets
from skipstack.search.engines.ray.sockets import LONGEST, SESSION, session_folder
from skipstack.search.record.reading import read_study


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a short name, which is the only place where another may be made."""
    place = Path(tempfile.mkdtemp(prefix="s-", dir="/tmp"))
    monkeypatch.setattr(sockets, "SHORT", ("/none", str(place)))
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    yield place
    shutil.rmtree(place)


def test_what_ray_would_take_is_left_to_it_as_long_as_a_socket_can_be_made_there(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for surplus in (0, 1):
        name = "n" * (LONGEST - len("/ray") - len(str(short)) - 1 + surplus)
        monkeypatch.setenv("TMPDIR", str(short / name))
        longest = Path(f"{short / name}/ray{SESSION}")
        longest.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as made:
            if surplus:
                with pytest.raises(OSError, match="too long"):
                    made.bind(str(longest))
            else:
                made.bind(str(longest))
        folder = session_folder()
        assert (folder is None) == (surplus == 0)
        assert folder is None or (folder.parent == short and not list(folder.iterdir()))


def test_where_no_folder_will_do_one_line_says_which_would(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = short / "file"
    file.touch()
    for unusable in (short / ("n" * 100), file / "below"):
        monkeypatch.setenv("TMPDIR", str(unusable))
        made = session_folder()
        assert made is not None
        assert made.parent == short
    monkeypatch.setattr(sockets, "SHORT", ("/none", str(file)))
    with pytest.raises(UserError, match=rf"TMPDIR: got {file}/below, where Ray .* at most {LONGEST - 4} bytes"):
        session_folder()


@pytest.mark.cluster
def test_a_study_runs_where_the_folder_for_temporary_files_has_a_long_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("n" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    before = set(Path("/tmp").glob("skipstack-ray-*"))
    study, root = tmp_path / "study", Path(__file__).parents[4]
    subprocess.run([sys.executable, "-m", "tests.search.toy_on_ray", study], cwd=root, check=True, timeout=250)
    assert read_study(study).finished
    assert set(Path("/tmp").glob("skipstack-ray-*")) <= before, "its folder is removed"
