"""Streams that are closed, full, or read by nobody any more: they cost what is shown there, never a study."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skipstack.search.study.record.reading import read_study
from tests.search.chaos import SMALL

CODE = "from skipstack.dashboards.cli import main; main()"
TINY = ["search", "quickstart", *SMALL, "--epochs", "2", "--seeds", "1", "--engine", "serial"]
FULL = Path("/dev/full")

needs_a_full_device = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-c", CODE, *map(str, arguments)]


def redirected(redirections: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command as a shell runs it with other streams."""
    words = ["sh", "-c", f'exec "$@" {redirections}', "sh", *program(*arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def left_by_its_reader(*arguments: object) -> tuple[int, str]:
    """The exit code of a command whose reader leaves at once, and what it says on stderr."""
    with subprocess.Popen(program(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        return process.wait(120), process.stderr.read()


@pytest.mark.first(1)
@pytest.mark.parametrize("arguments", [["spaces"], ["--help"], ["spaces", "wu2017/topologies"]])
def test_a_command_whose_reader_has_left_ends_without_a_word(arguments: list[str]) -> None:
    assert left_by_its_reader(*arguments) == (0, "")


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("redirections", "why"),
    [pytest.param(">/dev/full", "No space left on device", marks=needs_a_full_device), (">&-", "it is closed")],
)
def test_a_result_that_cannot_be_written_is_told_in_one_line(redirections: str, why: str) -> None:
    ended = redirected(redirections, "spaces")
    assert (ended.returncode, ended.stderr) == (2, f"skipstack: stdout cannot be written ({why})\n")


@pytest.mark.slow
def test_a_refusal_that_nobody_can_read_is_a_refusal_still() -> None:
    for redirections in ("2>&-", ">&- 2>&- <&-", *([">/dev/full 2>&1"] if FULL.exists() else [])):
        ended = redirected(redirections, "report", "no-such-study")
        assert (ended.returncode, ended.stdout + ended.stderr) == (2, ""), redirections


def checked(study: Path) -> None:
    """A study must be whole: finished without an interruption, and shown by MLflow with its report."""
    record = read_study(study)
    assert record.finished
    assert "interrupted" not in "".join(each.read_text() for each in study.glob("ledger/*.jsonl"))
    assert list(study.glob("mlartifacts/**/report.html"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirections",
    [
        ">&- <&-",
        pytest.param(">&- 2>&- <&-", marks=pytest.mark.slow),
        pytest.param(">/dev/full 2>&1", marks=[needs_a_full_device, pytest.mark.slow]),
    ],
)
def test_a_study_is_finished_whatever_its_streams_are(tmp_path: Path, redirections: str) -> None:
    ended = redirected(redirections, *TINY, "--trials", 2, "--out", tmp_path / "study")
    assert ended.returncode == 0, ended.stderr
    checked(tmp_path / "study")
    if "2>" not in redirections:
        told = f"stdout cannot be written (it is closed); `skipstack report {tmp_path / 'study'}` prints the report"
        assert ended.stderr.count("stdout") == 1
        assert told in ended.stderr.splitlines()


@pytest.mark.slow
def test_a_study_goes_on_without_the_reader_of_what_it_shows(tmp_path: Path) -> None:
    words = program(*TINY, "--trials", 3, "--out", tmp_path / "study")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(300) == 0
    checked(tmp_path / "study")


def on_a_terminal(study: Path, until: Callable[[], bool], before: str = "") -> int:
    """The exit code of a study on a terminal that is closed ``until`` then. ``before``: code that it runs first."""
    words = [sys.executable, "-c", f"{before}{CODE}", *TINY, "--trials", "8", "--out", str(study)]
    process, terminal = pty.fork()
    if not process:
        os.execv(sys.executable, words)
    os.set_blocking(terminal, False)
    while not until():
        try:
            os.read(terminal, 65536)
        except BlockingIOError:
            time.sleep(0.01)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.slow
def test_a_study_whose_terminal_is_closed_is_interrupted_in_order(tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert on_a_terminal(study, lambda: _ended(study) >= 1) == 130
    assert '"interrupted"' in "".join(each.read_text() for each in study.glob("ledger/*.jsonl"))
    assert not read_study(study).finished


@pytest.mark.slow
def test_a_study_that_is_to_outlive_its_terminal_does(tmp_path: Path) -> None:
    study = tmp_path / "study"
    ignored = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "  # as nohup begins a program
    assert on_a_terminal(study, lambda: _ended(study) >= 1, ignored) == 0
    checked(study)


def _ended(study: Path) -> int:
    return sum(each.read_text().count('"ended"') for each in study.glob("ledger/*.jsonl"))
