"""Trials that report nothing: their time limit ends them, too, once their next report is long overdue."""

import threading
from pathlib import Path
from typing import Any

import pytest

from skipstack.search.execution.driver import driver as module
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import EpochResult
from tests.search.changed import searched as changed
from tests.search.functions import Config, searched
from tests.search.toy import ToyWorker, open_toy, toy_study


class Clock:
    """One that is set."""

    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


def test_the_next_report_is_waited_for_until_the_limit_and_a_minute_more(tmp_path: Path) -> None:
    study = changed(toy_study(proposer="random"), time_limit=100.0, scheduler="none")
    folder, clock = open_toy(tmp_path / "study", study), Clock()
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        task, waiting = driver.next(), driver.next()
        assert task is not None
        assert waiting is not None
        driver.begun(task.number)
        clock.now += 150
        told = ToyWorker(task).run_epoch()
        result = EpochResult(epoch=1, score=told.score, metrics=told.metrics, seconds=40.0)
        assert driver.report(task.number, result).action == "continue"
        for seconds, silent in ((0.0, []), (139.0, []), (1.0, [task.number])):  # 60 s are left to it
            clock.now += seconds
            assert driver.silent() == silent
        driver.given_up(task.number)
        clock.now += 10_000
        assert driver.silent() == [], "a trial that no worker has taken up is not silent"
    trial = read_study(folder.path).trials[task.number]
    assert (trial.reason, trial.message) == ("timed_out", "no report within 140.0 s (search.time_limit: 100)")
    assert trial.epochs == 1


def test_a_function_that_never_returns_ends_its_trial_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHORTEST_WAIT", 0.1)
    never = threading.Event()

    def at_times(config: Config, report: Report) -> None:
        if config["x"] > 2.5:
            never.wait(60)
        report(score=config["x"])

    limits: dict[str, Any] = {"proposer": "random", "time_limit": 0.2, "scheduler": "none"}
    record = searched(tmp_path / "study", at_times, {"axes": {"x": {"real": [0.0, 4.0]}}, "search": limits}, trials=6)
    never.set()
    found = {trial.point["x"] > 2.5: trial.reason for trial in record.trials.values()}
    assert found == {True: "timed_out", False: "completed"}
    assert record.finished
