"""The command line killed outright, at moments drawn at random, and resumed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from data.seeding import generator
from search.events import Event
from search.folder import StudyFolder
from search.ledger import Ledger
from search.records import StudyRecord, read_study

SMALL = [
    *("search", "quickstart", "--engine", "serial", "--trials", "6", "--epochs", "4", "--seed", "5"),
    *("--set", "data.corpus.train=120", "--set", "data.corpus.dev=40", "--set", "data.corpus.test=40"),
    *("--set", "model.stack.hidden=8"),
]


def skipstack(*arguments: str) -> subprocess.Popen[str]:
    code = "from dashboards.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    return out


def appends(folder: Path) -> int:
    return sum(segment.read_bytes().count(b"\n") for segment in folder.glob("ledger/*.jsonl"))


def essence(events: list[Event]) -> list[dict[str, object]]:
    """What was proposed, reported, decided, ended and tested, without the clock."""
    kinds = {"proposed", "reported", "decided", "ended", "tested", "finished"}
    return [event.model_dump(exclude={"time", "seconds"}) for event in events if event.kind in kinds]


def test_three_kills_at_random_moments_change_no_trial_no_decision_and_no_winner(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    uninterrupted = skipstack(*SMALL, "--out", str(whole))
    finish(uninterrupted)
    expected = Ledger(StudyFolder(whole).ledger).read()

    seed = int.from_bytes(os.urandom(4), "big")  # new moments every time; the message of a failure names them
    draw = generator(seed, "kills")
    moments = sorted(draw.choice(appends(whole) - 4, size=3, replace=False) + 2)
    process = skipstack(*SMALL, "--out", str(killed))
    for moment in moments:
        while appends(killed) < moment:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        process = skipstack("resume", str(killed), "--engine", "serial")
    report = finish(process)

    assert essence(Ledger(StudyFolder(killed).ledger).read()) == essence(expected), f"kills from seed {seed}"
    ours, theirs = read_study(killed), read_study(whole)
    assert winner(ours) == winner(theirs)
    assert f"best: trial {winner(theirs)[0]}" in report


def winner(record: StudyRecord) -> tuple[int, str]:
    best = record.ranked()[0]
    return best.number, best.config.identity


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("engine", ["serial", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_driver_asked_to_end_ends_in_order_and_the_study_goes_on(
    engine: str, sent: signal.Signals, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    arguments = [engine if each == "serial" else each for each in SMALL]
    process = skipstack(*arguments, "--out", str(study))
    while appends(study) < 6:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(sent)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert f"skipstack resume {study}" in error
    assert "Traceback" not in error
    assert Ledger(StudyFolder(study).ledger).read()[-1].kind == "interrupted"
    finish(skipstack("resume", str(study), "--engine", engine))
    assert read_study(study).finished
