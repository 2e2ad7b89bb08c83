"""The command line asked to end, by a user or by a cluster manager, and resumed."""

import signal
import time
from pathlib import Path

import pytest

from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.reading import read_study
from tests.search.chaos import SMALL, finish, skipstack

pytestmark = pytest.mark.long

STUDY = ["search", "quickstart", *SMALL, "--trials", "6", "--epochs", "4", "--seed", "5", "--engine", "serial"]


def appends(folder: Path) -> int:
    return sum(segment.read_bytes().count(b"\n") for segment in folder.glob("ledger/*.jsonl"))


def interrupted(study: Path, engine: str, sent: signal.Signals) -> str:
    """A study that was asked to end after a few appends, which it did in order; what it said."""
    arguments = [engine if each == "serial" else each for each in STUDY]
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
    return str(error)


@pytest.mark.parametrize(
    ("engine", "sent"),
    [
        ("serial", signal.SIGTERM),
        pytest.param("ray", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("ray", signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_driver_asked_to_end_ends_in_order_and_the_study_goes_on(
    engine: str, sent: signal.Signals, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    interrupted(study, engine, sent)
    finish(skipstack("resume", str(study), "--engine", engine))
    assert read_study(study).finished


def test_with_enough_only_what_began_is_finished_and_the_best_of_it_tested(tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert "--enough" in interrupted(study, "serial", signal.SIGINT)
    begun = list(read_study(study).trials)
    assert 0 < len(begun) < 6
    finish(skipstack("resume", str(study), "--engine", "serial", "--enough"))
    record = read_study(study)
    assert list(record.trials) == begun
    assert record.finished
    assert record.ranked()[0].tested
    finish(skipstack("resume", str(study), "--engine", "serial"))
    assert list(read_study(study).trials) == begun
