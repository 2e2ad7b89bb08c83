"""Tests clusters without workers at first: Ray's own autoscaler starts machines, which are processes here."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skipstack.search.ledger.events import Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.search.growing import WORKERS, growing
from tests.search.head import Head
from tests.search.sleeping import SECONDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def begun(head: Head, folder: Path, *options: str, trials: int = 8) -> subprocess.Popen[str]:
    """Start the driver of a study on the cluster."""
    arguments = [sys.executable, "-m", "tests.search.growing", str(folder), head.address, str(trials), *options]
    return subprocess.Popen(
        arguments, env=head.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the driver's output at its end."""
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    said: dict[str, Any] = json.loads(out.splitlines()[-1])
    return said


def go_on(folder: Path, process: subprocess.Popen[str], machines: int) -> None:
    """Let trials end once ``machines`` machines train some."""
    end = time.monotonic() + 600
    while not folder.exists() or len({each.name for each in folder.glob("process-*")}) < machines:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.5)
    beside = folder / f".{SECONDS}"
    beside.write_text("0.1")
    beside.replace(folder / SECONDS)


@pytest.mark.parametrize(("second", "options"), [(False, ()), (True, ()), (True, ("untold",))])
def test_four_machines_are_started_at_once_for_a_study_that_begins_without_any(
    second: bool, options: tuple[str, ...], tmp_path: Path
) -> None:
    folder, starting = tmp_path / "study", 20.0
    with growing(starting=starting, second=second) as head:
        process = begun(head, folder, *options)
        go_on(folder, process, WORKERS)
        seen = told(process)
    assert read_study(folder).finished
    assert {trial.reason for trial in read_study(folder).trials.values()} == {"completed"}
    there = next(seconds for seconds, machines in seen["machines"] if machines >= WORKERS)
    print(f"{WORKERS} machines that take {starting:g} s each were there after {there:.1f} s; asked: {seen['asked']}")
    assert there < WORKERS * starting, "they did not start one after the other"
    assert seen["left"] == 0
    waited = "waiting for a machine with 1 CPU and no GPU: the machines have: no CPU and no GPU; what may join has: "
    assert seen["said"][0].startswith(waited)
    may_join = "machines that the cluster's autoscaler may start" if options else "1 CPU and no GPU (worker, up to 4)"
    assert seen["said"][0].endswith(may_join)


def test_no_more_machines_are_started_than_trials_may_run_at_a_time(tmp_path: Path) -> None:
    """Uses the second version of the autoscaler, since the first may start one machine too many by a race condition."""
    folder = tmp_path / "study"
    with growing(second=True) as head:
        process = begun(head, folder, "two", trials=4)
        go_on(folder, process, 2)
        seen = told(process)
    assert read_study(folder).finished
    assert max(places for _, places in seen["asked"]) == 2
    assert max(machines for _, machines in seen["machines"]) == 2
    assert seen["left"] == 0


def test_a_study_that_is_interrupted_takes_its_request_back(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    with growing() as head:
        seen = told(begun(head, folder, "interrupted"))
    assert seen["said"][-1] == "interrupted"
    assert max(places for _, places in seen["asked"]) == WORKERS
    assert seen["left"] == 0
    assert any(isinstance(event, Reported) for event in Ledger(StudyFolder(folder).ledger).read())


@pytest.mark.parametrize("second", [False, True])
def test_the_request_of_a_study_whose_driver_is_killed_is_taken_back(second: bool, tmp_path: Path) -> None:
    with growing(second=second) as head:
        process = begun(head, tmp_path / "study")
        wait_for(lambda: asked(head) == WORKERS)
        process.kill()
        process.communicate()
        wait_for(lambda: asked(head) == 0)


def asked(head: Head) -> int:
    """Return the number of slots that the cluster's autoscaler is asked for."""
    command = [sys.executable, "-m", "tests.search.growing", "asked", head.address]
    return int(subprocess.run(command, env=head.environment, capture_output=True, text=True, check=True).stdout)


def wait_for(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.5)


@pytest.mark.parametrize(("second", "options"), [(False, ()), (True, ("untold",))])
def test_what_no_machine_of_the_cluster_could_ever_hold_is_refused(
    second: bool, options: tuple[str, ...], tmp_path: Path
) -> None:
    with growing(second=second) as head:
        process = begun(head, tmp_path / "study", "gpus", *options)
        out, _ = process.communicate(timeout=600)
    may_join = "machines that the cluster's autoscaler may start" if options else "1 CPU and no GPU (worker, up to 4)"
    needs = "no trial fits: it needs 1 CPU and 1 GPU, and the machines have: no CPU and no GPU"
    waited = ", and none came within 1 min" if options else ""
    assert f"{needs}; what may join has: {may_join}{waited} (allowed: larger machines" in out, out
