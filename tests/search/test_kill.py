"""The command line is killed, or asked to end by a user or a cluster manager, and resumed."""

import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from skipstack.search.ledger.events import Ablated
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.command_line import typed
from tests.search.chaos import SMALL, finish, skipstack

RATE = "training.optimiser.learning_rate"
AGAIN = """
import builtins
plain = print
def printed(*line, **where):
    plain(*line, **where)
    if line and str(line[0]).startswith("interrupted; "):
        raise KeyboardInterrupt
builtins.print = printed
"""
"""The effect of a second Ctrl-C that comes while the message on the first is printed."""
FEW = 6
"""So many events leave a trial, also if the signal comes while the last of them is written, and takes it back."""
STUDY = ["search", "quickstart", *SMALL, "--epochs", "4", "--seed", "5"]


def events(folder: Path) -> int:
    """Return the number of events in a study's ledger, also once it is compacted; 0 without a ledger."""
    return len(Ledger(StudyFolder(folder).ledger).read()) if (folder / "ledger").exists() else 0


def await_events(study: Path, count: int, process: "subprocess.Popen[str]") -> None:
    """Wait until a study's ledger has so many events. The process that runs the study must not end before."""
    while events(study) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def struck(study: Path, sent: signal.Signals, *arguments: str) -> str:
    """Run a command, send a signal once ``FEW`` events are in the study's ledger, and return its messages."""
    before, process = events(study), skipstack(*arguments)
    await_events(study, before + FEW, process)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(sent)
    _, error = process.communicate(timeout=120)
    _, left = psutil.wait_procs(family, timeout=60)
    assert left == [], "it leaves processes behind"
    if sent == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130, error
        assert shlex.join(["skipstack", "resume", str(study)]) in error
        last = Ledger(StudyFolder(study).ledger).read()[-1]
        assert (last.event if isinstance(last, Ablated) else last).kind == "interrupted"
    assert "Traceback" not in error
    return error


@pytest.mark.slow
def test_a_study_asked_to_end_goes_on_and_with_enough_begins_no_further_trial(tmp_path: Path) -> None:
    study = tmp_path / "study"
    search = [*STUDY, "--trials", "30", "--engine", "serial", "--out", str(study)]
    assert "--enough" in struck(study, signal.SIGTERM, *search)
    begun = list(read_study(study).trials)
    assert 0 < len(begun) < 30
    assert typed("resume", study, "--engine", "serial", "--enough").code == 0
    record = read_study(study)
    assert list(record.trials) == begun
    assert record.finished
    assert record.ranked()[0].tested


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_study_asked_to_end_twice_does_not_wait_for_a_store_that_hangs(at_once: bool, tmp_path: Path) -> None:
    study = tmp_path / "study"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = ("--tracking-uri", f"http://127.0.0.1:{silent.getsockname()[1]}")
        process = skipstack(
            *STUDY, "--trials", "30", "--engine", "serial", "--out", str(study), *store, before=AGAIN if at_once else ""
        )
        await_events(study, FEW, process)
        (tracker,) = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGINT)
        if not at_once:
            assert process.stderr is not None
            assert any(line.startswith("interrupted; ") for line in process.stderr), "it ends without saying so"
            time.sleep(0.2)
            assert process.poll() is None, "the store was not waited for"
            process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert Ledger(StudyFolder(study).ledger).read()[-1].kind == "interrupted"
    assert "Traceback" not in error
    psutil.wait_procs([tracker], timeout=60)
    assert not tracker.is_running()
    store = ("--tracking-uri", f"sqlite:///{study}.db")
    assert typed("resume", study, "--engine", "serial", "--enough", *store).code == 0


@pytest.mark.slow
def test_a_study_killed_and_asked_to_end_goes_on_each_time(tmp_path: Path) -> None:
    study = tmp_path / "study"
    struck(study, signal.SIGKILL, *STUDY, "--trials", "8", "--engine", "serial", "--out", str(study))
    struck(study, signal.SIGTERM, "resume", str(study), "--engine", "serial")
    finish(skipstack("resume", str(study), "--engine", "serial"))
    record = read_study(study)
    assert record.finished
    assert len(record.trials) == 8


@pytest.mark.slow
def test_an_ablation_killed_and_asked_to_end_goes_on_each_time(tmp_path: Path) -> None:
    study = tmp_path / "study"
    rate = ("--set", "training.optimiser.learning_rate=0.00001", "--set", f"axes.{RATE}={{log: [0.01, 0.03]}}")
    finish(skipstack(*STUDY, *rate, "--trials", "4", "--seeds", "1", "--engine", "serial", "--out", str(study)))
    struck(study, signal.SIGKILL, "ablate", str(study), "--seeds", "1", "--top", "2", "--engine", "serial")
    assert "--enough" not in struck(study, signal.SIGINT, "resume", str(study), "--engine", "serial")
    finish(skipstack("resume", str(study), "--engine", "serial"))
    (ablation,) = read_study(study).ablations.values()
    assert ablation.finished
    assert all(trial.tested for trial in ablation.trials.values())


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_study_on_ray_asked_to_end_goes_on(sent: signal.Signals, tmp_path: Path) -> None:
    study = tmp_path / "study"
    struck(study, sent, *STUDY, "--trials", "6", "--engine", "ray", "--out", str(study))
    finish(skipstack("resume", str(study), "--engine", "ray"))
    assert read_study(study).finished
