"""Folders that a study cannot be begun in: one line each, nothing left behind, and a process that can begin another."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api import run
from skipstack.search.api.run import Run
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.study.record.folder import new_folder
from tests.search.functions import Config

AXES = {"axes": {"x": {"real": [0.0, 4.0]}}}


def objective(config: Config, report: Report) -> None:
    report(score=config["x"])


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system that is mounted read-only, which stops root, too."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, text=True)
    if mounting.returncode:
        pytest.skip(f"nothing can be mounted here: {mounting.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def refused(path: Path, match: str) -> None:
    with pytest.raises(UserError, match=match) as raised:
        skipstack.search(AXES, objective, trials=1, out=path, engine="serial")
    assert "\n" not in str(raised.value)


def test_a_folder_that_cannot_be_made_is_refused_in_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before = sorted(tmp_path.rglob("*"))
    refused(tmp_path / "file" / "below" / "study", "cannot be written: Not a directory")
    refused(tmp_path / "link", "is a link to nowhere, where nothing is")
    refused(tmp_path / "loop", "is a link to loop, where nothing is")
    refused(tmp_path / ("n" * 256), "cannot be written: File name too long")
    refused(tmp_path / "new" / ("n" * 256), "cannot be written: File name too long")
    refused(tmp_path / "bad\udcff", "is not UTF-8")
    refused(Path(), "is the working directory")
    refused(Path(".."), "is not an empty folder")
    refused(Path("nowhere/one/.."), "does not name a new folder")
    refused(tmp_path / "here", "is the working directory")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_is_read_only_is_refused_in_one_line(read_only: Path) -> None:
    refused(read_only / "study", "cannot be written: Read-only file system")
    refused(read_only / "new" / "study", "cannot be written: Read-only file system")


def test_a_name_of_255_bytes_is_a_name_whatever_its_letters(tmp_path: Path) -> None:
    for name in ("n" * 255, "語" * 85):
        with new_folder(tmp_path / name) as folder:
            folder.ledger.mkdir()
        assert (tmp_path / name / "ledger").is_dir()


def test_of_two_searches_with_one_folder_the_later_is_refused_and_its_engine_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    real = run._started

    class Started(Engine):
        words = "none"
        run = test = None  # type: ignore[assignment]

        def close(self) -> None:
            closed.append(True)

    def late(given: Run, *_: object) -> Run:
        """Its engine has started; meanwhile the other search has taken the folder."""
        (tmp_path / "study" / "ledger").mkdir(parents=True)
        return Run(given.folder, given.execution, Started(), resuming=False)

    monkeypatch.setattr(run, "_started", late)
    resume = shlex.join(["skipstack", "resume", str(tmp_path / "study")])
    refused(tmp_path / "study", f"holds a study already .*`{resume}`")
    assert closed == [True]
    assert [path.name for path in tmp_path.rglob("*")] == ["study", "ledger"]
    monkeypatch.setattr(run, "_started", real)
    study = skipstack.search(AXES, objective, trials=1, out=tmp_path / "next", engine="serial")
    assert study.finished
