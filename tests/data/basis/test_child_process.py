"""A child process answers, and ends with its parent, however that ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from skipstack.data.basis.child_process import ChildProcess, NoAnswerError
from tests.data.basis import works
from tests.search.publishing.tracking.test_recording import wait_until

ROOT = Path(__file__).parents[3]
SCRIPT = """
import signal, sys
for sent, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    signal.signal(sent, usual)  # whatever started the tests may ignore them
from skipstack.data.basis.child_process import ChildProcess
from tests.data.basis import works

print("begun", flush=True)  # twice, if the child process loaded this script
child = ChildProcess(getattr(works, sys.argv[1]))
child.receive()
print(child.pid, child._scratch.name, flush=True)
sys.stdin.read()
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended; whoever inherits it may not have asked for its end yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_it_finds_what_is_found_here_and_loads_nothing_of_the_main_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "multiprocessing.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "search").mkdir()
    strange = str(tmp_path / "a: 'b'\udcff ü")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(strange)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = ChildProcess(works.answer)
    try:
        said = child.receive()
        assert said["path"] == sys.path
        assert said["path"][0] == strange
        assert Path(said["folder"]) == tmp_path
        assert set(said["main"]) <= {"sys", "work", "do"}
        for message in ("a text", 1.5, None):
            child.send(message)
            assert child.receive() == message
    finally:
        child.end()
    assert is_gone(child.pid)
    assert not Path(said["temporary"]).exists()


def test_it_is_asked_to_end_by_nobody_but_its_parent() -> None:
    child = ChildProcess(works.answer)
    try:
        child.receive()
        assert os.getsid(child.pid) != os.getsid(0), "Ctrl-C and a closed terminal reach it"
        for sent in (signal.SIGINT, signal.SIGTERM):
            os.kill(child.pid, sent)
        child.send("still there")
        assert child.receive() == "still there"
    finally:
        child.end()


NO_REAL_TIME = pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="this system has no real-time signals")


@pytest.mark.parametrize(
    ("sent", "name"), [(signal.SIGKILL, "SIGKILL"), pytest.param(40, "signal 40", marks=NO_REAL_TIME)]
)
def test_one_that_was_killed_says_so_once_it_is_asked(sent: int, name: str) -> None:
    child = ChildProcess(works.answer)
    try:
        child.receive()
        os.kill(child.pid, sent)
        wait_until(lambda: is_gone(child.pid))
        for _ in range(3):
            child.send("x" * 1_000_000)
        with pytest.raises(NoAnswerError, match=rf"^its process ended by {name}$"):
            child.receive()
    finally:
        child.end()


def test_one_that_fails_says_why_in_a_line_without_secrets() -> None:
    child = ChildProcess(works.fall)
    try:
        with pytest.raises(NoAnswerError) as ended:
            child.receive()
    finally:
        child.end()
    assert str(ended.value) == "its process ended with 1: from http://***@host"


def test_one_that_hangs_is_ended_at_once() -> None:
    child = ChildProcess(works.hang)
    child.receive()
    child.end()
    assert is_gone(child.pid)
    child.end()  # once more is no mistake


@pytest.mark.first(3)
@pytest.mark.parametrize("work", ["answer", "hang"])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGHUP, signal.SIGINT])
def test_it_ends_with_a_script_that_is_ended(work: str, sent: signal.Signals) -> None:
    own = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "begun\n"
        pid, scratch = script.stdout.readline().split()
        assert Path(scratch).exists()
        script.send_signal(sent)
        assert script.wait(60) != 0
        wait_until(lambda: is_gone(int(pid)))
        assert not Path(scratch).exists()
