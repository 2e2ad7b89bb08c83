"""Several trials in one process: each as by itself, under ASHA, faults, kills and resumption."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from skipstack.models.training import together
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.training_workers import TrainingWorkers
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.ledger.events import Decided, Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import TrialTask, Worker
from tests.search.finished import opened
from tests.search.toy import FailingWorker, ToyWorker, open_toy, toy_driver, toy_study

STUDY: dict[str, Any] = {
    "base": {
        "data": {"corpus": {"kind": "grammar", "train": 32, "dev": 16, "test": 8}},
        "model": {
            "embedder": {"word_size": 16, "capital_size": 0, "affix_characters": 0, "window": 0},
            "stack": {"depth": 1, "hidden": 16},
            "initial_scale": 1.0,
        },
        "training": {"epochs": 4, "batch_size": 8, "optimiser": {"kind": "adam", "learning_rate": 0.01}},
    },
    "axes": {
        "training.optimiser.learning_rate": {"log": [0.001, 0.05]},
        "model.stack.dropout": {"choice": [0.0, 0.2, 0.5]},
        "model.stack.hidden": {"choice": [16, 32]},
    },
    "search": {
        "proposer": "random",
        "trials": 8,
        "seeds": 2,
        "scheduler": {"kind": "asha", "grace": 1, "reduction": 2},
    },
}


class KilledError(Exception):
    """Stands for the end of the driver's process."""


class Killed:
    """A reader that kills the driver with its ``after``-th report."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, event: Event) -> None:
        self.left -= isinstance(event, Reported)
        if isinstance(event, Reported) and self.left == 0:
            raise KilledError


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many trials each epoch of a program had."""
    found, train = list[int](), together.Together.train

    def counted(self: together.Together, part: together.Part, tick: Any) -> None:
        found.append(len(self.company(part)))
        train(self, part, tick)

    monkeypatch.setattr(together.Together, "train", counted)
    return found


def study(path: Path, **search: Any) -> StudyFolder:
    path.mkdir()
    file = path / "study.yaml"
    file.write_text(yaml.safe_dump({**STUDY, "search": {**STUDY["search"], **search}}))
    return opened(file)


def run(folder: StudyFolder, trials: int, killed_after: int = 0) -> StudyRecord:
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=iter(range(10**9)).__next__)
        driver.listen(Killed(killed_after))
        SerialEngine(TrainingWorkers(shared=True), trials=trials).run(driver)
    return driver.record


def checked(folder: StudyFolder, tmp_path: Path) -> None:
    """Each report is that of a trial that trains by itself."""
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: 0.0)
    for number, trial in driver.record.trials.items():
        worker = TrainingWorker(_alone(driver, number, tmp_path / str(number)))
        for report in trial.reports:
            assert worker.run_epoch().metrics == report.metrics, (number, report.epoch)


def _alone(driver: Driver, number: int, folder: Path) -> TrialTask:
    return replace(driver.task(number), folder=folder, reported=0, attempt=1)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_trials_that_train_together_report_what_each_would_by_itself(tmp_path: Path, sizes: list[int]) -> None:
    folder = study(tmp_path / "study")
    record = run(folder, 4)
    assert len(record.trials) == 8
    assert all(trial.reason is not None for trial in record.trials.values())
    assert max(sizes) > 1
    with Ledger(folder.ledger) as ledger:
        decisions = {event.decision for event in ledger.read() if isinstance(event, Decided)}
    assert {"continue", "stop"} <= decisions
    checked(folder, tmp_path / "alone")


@pytest.mark.parametrize("after", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_a_killed_study_goes_on_and_each_trial_is_as_by_itself(after: int, tmp_path: Path, sizes: list[int]) -> None:
    folder = study(tmp_path / "study")
    with pytest.raises(KilledError):
        run(folder, 4, killed_after=after)
    record = run(folder, 3)
    assert len(record.trials) == 8
    assert max(sizes) > 1
    checked(folder, tmp_path / "alone")


@pytest.mark.slow
def test_paused_trials_go_on_with_others(tmp_path: Path, sizes: list[int]) -> None:
    promotion = {"kind": "asha", "variant": "promotion", "grace": 1, "reduction": 2}
    folder = study(tmp_path / "study", scheduler=promotion, trials=6)
    record = run(folder, 4)
    assert any(trial.starts > 1 for trial in record.trials.values())
    checked(folder, tmp_path / "alone")


@pytest.mark.first(1)
@pytest.mark.parametrize("trials", [1, 3, 100])
def test_the_order_of_events_is_the_same_every_time(trials: int, tmp_path: Path) -> None:
    def told(name: str) -> list[object]:
        folder = open_toy(tmp_path / name, toy_study())
        with Ledger(folder.ledger) as ledger:
            driver = toy_driver(folder, ledger)
            SerialEngine(ToyWorker, trials=trials).run(driver)
            return [{**event.model_dump(), "time": 0} for event in ledger.read()]

    assert told("first") == told("second")


def test_a_fault_ends_one_trial_and_another_takes_its_place(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study())
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        SerialEngine(FailingWorker, trials=3).run(driver)
    reasons = {trial.config.model.stack.depth: trial.reason for trial in driver.record.trials.values()}  # type: ignore[attr-defined]
    assert reasons[3] == "failed"
    assert len(driver.record.trials) == 12


def test_workers_that_cannot_be_made_end_their_trials_alone(tmp_path: Path) -> None:
    class Unmade(ToyWorker):
        def __init__(self, task: TrialTask) -> None:
            super().__init__(task)
            if task.config.model.stack.depth == 2:  # type: ignore[attr-defined]
                raise RuntimeError("no such network")

    folder = open_toy(tmp_path / "study", toy_study())
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        SerialEngine(Unmade, trials=2).run(driver)
    assert len(driver.record.trials) == 12
    failed = [trial for trial in driver.record.trials.values() if trial.reason == "failed"]
    assert {trial.config.model.stack.depth for trial in failed} == {2}  # type: ignore[attr-defined]


def test_the_least_advanced_trials_train_first_and_places_are_filled_after_them(tmp_path: Path) -> None:
    begun, trained = list[int](), list[tuple[int, int]]()

    class Noted(ToyWorker):
        def __init__(self, task: TrialTask) -> None:
            super().__init__(task)
            begun.append(task.number)

        def run_epoch(self) -> Any:
            result = super().run_epoch()
            trained.append((result.epoch, len(begun)))
            return result

    def make(task: TrialTask) -> Worker:
        return Noted(task)

    folder = open_toy(tmp_path / "study", toy_study())
    with Ledger(folder.ledger) as ledger:
        SerialEngine(make, trials=4).run(toy_driver(folder, ledger))  # type: ignore[arg-type]
    assert trained[:4] == [(1, 4)] * 4
    later = [epoch for epoch, count in trained if count == 4]
    assert later[4:] == [] or min(later[4:]) > 1
