"""Difficult functions, killed with their driver: the study goes on, takes a point, is ablated, and is read anywhere."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skipstack.dashboards.web.page_names import GOING
from skipstack.search.ledger.events import Ended
from skipstack.search.ledger.following import Following
from skipstack.search.study.record.reading import read_study
from tests.command_line import typed
from tests.dashboards.web.shown import Opened
from tests.library import guests
from tests.test_house import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.filterwarnings("default")]


def begun(how: str, kind: str, folder: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "RAY_ADDRESS": "local", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, guests.__file__, how, kind, "study"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=(folder / f"{how}.txt").open("w"),
        text=True,
    )


def kill_after_two_trials(driver: "subprocess.Popen[str]", ledger: Path) -> None:
    while driver.poll() is None and not ledger.is_dir():
        time.sleep(0.1)
    news, ended = Following(ledger), 0
    while driver.poll() is None and ended < 2:
        time.sleep(0.05)
        ended += sum(isinstance(event, Ended) for event in news.events())
    driver.send_signal(signal.SIGKILL)
    driver.communicate()


@pytest.mark.parametrize("kind", guests.KINDS)
def test_a_difficult_function_is_a_guest_like_any_other(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    kill_after_two_trials(begun("search", kind, tmp_path), folder / "ledger")
    assert not read_study(folder).finished
    told, _ = (after := begun("go", kind, tmp_path)).communicate()
    assert after.returncode == 0, (tmp_path / "go.txt").read_text()[-3000:]
    found = json.loads(told.splitlines()[-1])
    assert len(found["x"]) == 9
    assert guests.POINT["x"] in found["x"]
    for state, x, score in zip(found["states"], found["x"], found["score"], strict=True):
        if x > 1.5 and kind in ("silent", "exits"):
            assert state == {"silent": "timed_out", "exits": "crashed"}[kind]
        else:
            assert state == "completed"
            assert kind == "learns" or math.isclose(score, guests.peak(x))
    record = read_study(folder)
    assert [each.finished for each in record.ablations.values()] == [True]
    assert "the winner" in (report := typed("report", folder).out) or "winner" in report
    assert "9 trials" in report
    assert Opened(tmp_path, GOING, study="study").metrics["trials ended"] == "9 of 9"
    log = folder / "trials" / "000000" / "log.txt"
    assert kind != "prints" or log.stat().st_size < 10_000_000
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    (experiment,) = (each for each in client.search_experiments() if each.name != "Default")
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    assert len([run for run in runs if run.data.tags.get("skipstack.kind") == "trial"]) == 9
