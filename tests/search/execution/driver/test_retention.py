"""Which weights stay: whatever is measured or exported in the end was there, and the disk is no fuller than agreed."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import Fault
from skipstack.search.execution.driver.retention import Retention, delete_all_but_logs
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Decided, Ended, Event, Metrics, Proposed, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, CHECKPOINT, GROUP, MODELS, StudyFolder, delete_checkpoints
from skipstack.search.study.record.selection import selected
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.changed import searched
from tests.search.functions import LINE, open_function, rising
from tests.search.made_up import ended, opening, reported
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

WEIGHTS, STATE = 1000, 3000
"""Bytes of a trial's best weights, and of what it goes on from."""


class WritingWorker(ToyWorker):
    """Leaves files as a real one does, and needs its weights to be tested."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        if self.task.config.model.stack.depth == 3 and result.epoch == 2 and self.task.number % 2:
            raise ValueError("a bug")
        self.task.folder.mkdir(parents=True, exist_ok=True)
        (self.task.folder / BEST).write_bytes(bytes(WEIGHTS))
        (self.task.folder / CHECKPOINT).write_bytes(bytes(STATE))
        return result

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        assert (task.folder / BEST).stat().st_size == WEIGHTS
        return super().test(task)


def kept(folder: StudyFolder) -> set[int]:
    return {int(path.parent.name) for path in folder.trials.glob(f"*/{BEST}")}


def used(folder: StudyFolder) -> int:
    return sum(path.stat().st_size for path in folder.trials.glob("*/*.safetensors"))


def begun(path: Path, *, proposer: str = "tpe", trials: int, **search: object) -> StudyFolder:
    study = toy_study(trials=trials, proposer=proposer)
    return open_toy(path, searched(study, **search))


def run(
    path: Path,
    *,
    proposer: str = "tpe",
    trials: int = 24,
    watch: Callable[[StudyFolder, Driver, Event], None] = lambda folder, driver, event: None,
    **search: object,
) -> tuple[StudyFolder, StudyRecord, str | None]:
    """A whole study; ``watch`` sees the folder after each event."""
    folder = begun(path, proposer=proposer, trials=trials, **search)
    with Ledger(folder.ledger) as ledger:
        retention = Retention(folder, lambda: driver.record)
        driver = toy_driver(folder, ledger, readers=[retention, lambda event: watch(folder, driver, event)])
        run_study(driver, SerialEngine(WritingWorker))
    return folder, driver.record, retention.close()


def test_where_nothing_is_asked_for_all_weights_with_a_score_stay_and_no_state_of_a_trial_that_ended(
    tmp_path: Path,
) -> None:
    folder, record, message = run(tmp_path)
    assert kept(folder) == {trial.number for trial in record.ranked()}
    assert len(kept(folder)) < 24, "a failed one has none"
    assert not list(folder.trials.glob(f"*/{CHECKPOINT}"))
    assert message is None


@pytest.mark.first(2)
@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("proposer", ["tpe", "random", "grid"])
def test_the_best_stay_and_whatever_was_to_be_measured_was_still_there(
    keep: int, proposer: str, tmp_path: Path
) -> None:
    most = 0

    def watch(folder: StudyFolder, driver: Driver, event: Event) -> None:
        nonlocal most
        if isinstance(event, Ended):
            most = max(most, len(kept(folder)))
            ended = [trial.number for trial in driver.record.ranked() if trial.reason is not None]
            assert set(ended[:keep]) <= kept(folder)

    folder, record, _ = run(tmp_path, proposer=proposer, keep_checkpoints=keep, watch=watch)
    assert kept(folder) == {trial.number for trial in record.ranked()[:keep]}
    assert all(record.trials[number].tested for number in selected(record))
    if proposer != "grid":
        assert most < 12, "they were deleted as the study went"


def test_the_disk_is_never_fuller_than_its_budget(tmp_path: Path) -> None:
    budget = 9 * WEIGHTS + STATE

    def watch(folder: StudyFolder, driver: Driver, event: Event) -> None:
        assert used(folder) <= budget, event

    folder, record, message = run(tmp_path, disk_budget=budget, watch=watch)
    assert record.ranked()[0].number in kept(folder)
    assert len(kept(folder)) >= 5
    assert all(record.trials[number].tested for number in selected(record))
    assert message is None


@pytest.mark.slow
def test_what_is_needed_stays_beyond_the_budget_and_that_is_told(tmp_path: Path) -> None:
    folder, record, message = run(tmp_path, disk_budget=100)
    assert record.finished
    assert kept(folder) == {record.ranked()[0].number}
    assert all(record.trials[number].tested for number in selected(record))
    assert message is not None
    assert message.startswith("search.disk_budget: 100 bytes; the weights that are needed took up to ")


@pytest.mark.slow
def test_logs_stay_where_weights_are_deleted(tmp_path: Path) -> None:
    def watch(folder: StudyFolder, driver: Driver, event: Event) -> None:
        if isinstance(event, Proposed):
            folder.trial(event.trial).mkdir(parents=True)
            folder.log(event.trial).write_text(f"said by {event.trial}\n" if event.trial % 2 else "")

    folder, _, _ = run(tmp_path, keep_checkpoints=1, disk_budget=2 * WEIGHTS, watch=watch)
    assert [folder.log(number).exists() for number in range(24)] == [True] * 24
    (folder.trial(3) / "seed-0" / "deep").mkdir(parents=True)
    (folder.trial(3) / "seed-0" / "deep" / "state").touch()
    delete_all_but_logs(folder)
    left = {path for path in folder.trials.rglob("*") if path.is_file()}
    assert left == {folder.log(number) for number in range(1, 24, 2)}
    assert len(list(folder.trials.iterdir())) == 12
    for path in left:
        path.write_text("")
    delete_all_but_logs(folder)
    assert not folder.trials.exists()
    delete_all_but_logs(folder)


def test_weights_are_deleted_beside_the_mark_of_a_cluster(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    for number in (0, 1):
        folder.trial(number).mkdir(parents=True)
        (folder.trial(number) / BEST).touch()
    folder.log(1).write_text("said\n")
    Mark.made(folder.trials)
    delete_all_but_logs(folder)
    assert [path for path in folder.trials.rglob("*") if path.is_file()] == [folder.log(1)]


def test_a_running_trial_may_replace_its_models_while_they_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_function(tmp_path, rising, {**LINE, "search": {"disk_budget": WEIGHTS - 1}})
    record = StudyRecord.of(Ledger(folder.ledger).read())
    retention = Retention(folder, lambda: record)
    record.apply(Proposed(time=0.0, trial=0, point={"x": 0.5}, config_identity="", seeds=(0,)))
    record.apply(Started(time=0.0, trial=0))
    for name in ("best", "former"):
        model = folder.trial(0) / MODELS / "seed-0" / name
        model.mkdir(parents=True)
        (model / "weights.bin").write_bytes(bytes(WEIGHTS))
    scandir = os.scandir

    def late(path: Any = ".") -> Any:
        if Path(path).name == "former":
            monkeypatch.setattr(os, "scandir", scandir)
            shutil.rmtree(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", late)
    retention(reported(0, 1, 0.5))
    assert not model.exists()
    assert retention.close() == "search.disk_budget: 999 bytes; the weights that are needed took up to 1,000"


def test_a_trial_that_leads_and_then_fails_displaces_none_that_ended(tmp_path: Path) -> None:
    """The weights of the one that leads in the end would be gone otherwise."""
    folder = begun(tmp_path, proposer="grid", trials=9, keep_checkpoints=1)
    with Ledger(folder.ledger) as ledger:
        retention = Retention(folder, lambda: driver.record)
        driver = toy_driver(folder, ledger, readers=[retention])

        def report(number: int, epoch: int, score: float) -> None:
            (folder.trial(number)).mkdir(parents=True, exist_ok=True)
            (folder.trial(number) / BEST).write_bytes(bytes(WEIGHTS))
            metrics: Metrics = {"dev_accuracy": (score, score)}
            driver.report(number, EpochResult(epoch=epoch, score=score, metrics=metrics, seconds=0.0))

        numbers = [task.number for task in iter(driver.next, None)][:3]
        report(numbers[1], 1, 0.9)
        for epoch in range(1, 5):
            report(numbers[0], epoch, 0.5)
        assert kept(folder) == {0, 1}
        driver.faulted(numbers[1], Fault("failed", "ValueError: a bug"))
        assert kept(folder) == {0}


class Looks:
    """Counts how often the file system and the trials of a record are asked, at the level of ``os`` and of ``dict``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        for name in ("stat", "scandir", "listdir"):
            monkeypatch.setattr(os, name, self._counting(getattr(os, name)))

    def _counting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            return call(*arguments, **options)

        return counted


class Trials(dict[int, Any]):
    """The trials of a record, each of which counts as a look when all are gone through."""

    looks: Looks

    def values(self) -> Any:
        self.looks.count += len(self)
        return super().values()


def most_looks(path: Path, trials: int, *, pause: bool, monkeypatch: pytest.MonkeyPatch) -> int:
    """The most looks of an event after the first, in a study whose ``trials`` run one after another. With ``pause``,
    every second trial pauses and stays so.
    """
    config = searched(toy_study(trials=trials), disk_budget=10**9)
    folder, record, most = StudyFolder(path), StudyRecord.of(opening(config)), 0
    retention = Retention(folder, lambda: record)
    with monkeypatch.context() as patch:
        looks = Looks(patch)
        record.trials = Trials()
        record.trials.looks = looks
        for number in range(trials):
            folder.trial(number).mkdir(parents=True)
            report = reported(number, 1, 0.5)
            paused = Decided(time=0.0, trial=number, epoch=1, decision="pause", rung=1)
            for event in (
                Proposed(time=0.0, trial=number, point={}, config_identity="", seeds=(0,)),
                Started(time=0.0, trial=number),
                report,
                paused if pause and number % 2 else ended(number),
            ):
                if event is report:
                    for name in (BEST, CHECKPOINT):
                        (folder.trial(number) / name).write_bytes(bytes(WEIGHTS))
                record.apply(event)
                looks.count = 0
                retention(event)
                most = max(most, looks.count if number else 0)
    return most


@pytest.mark.parametrize("pause", [False, True])
def test_what_an_event_costs_does_not_grow_with_the_study(
    pause: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (
        most_looks(tmp_path / str(trials), trials, pause=pause, monkeypatch=monkeypatch) for trials in (20, 40)
    )
    assert 0 < few == many


def test_what_a_killed_driver_left_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    folder = begun(tmp_path, trials=12, keep_checkpoints=2)
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        SerialEngine(WritingWorker).run(driver)
    assert len(kept(folder)) > 6
    assert list(folder.trials.glob(f"*/{CHECKPOINT}"))
    with Ledger(folder.ledger) as ledger:
        retention = Retention(folder, lambda: driver.record)
        driver = toy_driver(folder, ledger, readers=[retention])
        run_study(driver, SerialEngine(WritingWorker))
    assert kept(folder) == {trial.number for trial in driver.record.ranked()[:2]}
    assert not list(folder.trials.glob(f"*/{CHECKPOINT}"))


def test_what_another_process_deletes_meanwhile_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file server and a driver do at the end of a trial whose files were copied."""
    group = tmp_path / GROUP.format(2)
    group.mkdir()
    for name in (CHECKPOINT, BEST):
        (group / name).touch()
    rmtree = shutil.rmtree

    def late(folder: Path) -> None:
        """The other one deletes a file that this one has seen."""
        monkeypatch.setattr(shutil, "rmtree", rmtree)
        (group / BEST).unlink()
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(group / BEST))

    monkeypatch.setattr(shutil, "rmtree", late)
    delete_checkpoints(tmp_path)
    assert list(tmp_path.iterdir()) == []
