"""Disks that are full or fail while a study runs: nothing fails, and once they answer the study is as if they had."""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar

import pytest

from skipstack.data.basis import disk_errors
from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.attempt import Attempt
from skipstack.search.execution.driver.faults import DiskLostError, OutOfSpaceError, StudyInterruptedError
from skipstack.search.execution.driver.measuring_on_test import Measurement, measured
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.events import Event, Interrupted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.changed import searched
from tests.search.functions import Config, open_function, peak, run_function
from tests.search.killing import timeless
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

FULL, FAILING = (errno.ENOSPC, errno.EDQUOT), (errno.EIO, errno.EROFS, errno.ESTALE, errno.ENOTCONN)


class Disk:
    """A disk elsewhere that refuses, from its ``first`` write on, so many ``times``."""

    def __init__(self, number: int, *, first: int, times: int) -> None:
        self.number, self.first, self.times = number, first, times
        self.writes = 0

    def write(self) -> None:
        self.writes += 1
        if self.writes >= self.first and self.times:
            self.times -= 1
            raise OSError(self.number, os.strerror(self.number), "/home/ann/cache")


class WritingWorker(ToyWorker):
    """Writes elsewhere in each epoch and in each test, and when it begins."""

    disk: ClassVar[Disk]

    def __init__(self, task: TrialTask) -> None:
        super().__init__(task)
        self.disk.write()

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        self.disk.write()
        return result

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        cls.disk.write()
        return super().test(task)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_errors, "PAUSES", (0.0, 0.0))


def begun(path: Path) -> StudyFolder:
    return open_toy(path, searched(toy_study(trials=6, proposer="grid", epochs=3)))


def events(folder: StudyFolder) -> list[Event]:
    """What happened, without interruptions."""
    return [event for event in timeless(Ledger(folder.ledger).read()) if not isinstance(event, Interrupted)]


def expected(path: Path) -> list[Event]:
    folder = begun(path)
    run_toy(folder)
    return events(folder)


def moments(path: Path) -> Iterator[int]:
    """Numbers of writes, from the first to the last of the study."""
    WritingWorker.disk = Disk(errno.EIO, first=1, times=0)
    run_toy(begun(path), worker=WritingWorker)
    yield from range(1, WritingWorker.disk.writes + 1)


@pytest.mark.slow
def test_a_full_disk_elsewhere_interrupts_a_study_that_is_the_same_once_it_has_room(tmp_path: Path) -> None:
    whole = expected(tmp_path / "whole")
    for first, number in zip(moments(tmp_path / "counted"), cycle(FULL), strict=False):
        folder = begun(tmp_path / str(first))
        WritingWorker.disk = Disk(number, first=first, times=1)
        with pytest.raises(OutOfSpaceError, match=r"^trial \d( on test)?: a disk is full \(OSError: .*/home/ann/cache"):
            run_toy(folder, worker=WritingWorker)
        assert isinstance(Ledger(folder.ledger).read()[-1], Interrupted)
        run_toy(folder, worker=WritingWorker)
        assert events(folder) == whole, f"at write {first}"


@pytest.mark.slow
def test_a_disk_that_fails_once_changes_nothing(tmp_path: Path) -> None:
    whole = expected(tmp_path / "whole")
    for first, number in zip(moments(tmp_path / "counted"), cycle(FAILING), strict=False):
        folder = begun(tmp_path / str(first))
        WritingWorker.disk = Disk(number, first=first, times=1)
        run_toy(folder, worker=WritingWorker)
        assert timeless(Ledger(folder.ledger).read()) == whole, f"at write {first}"


@pytest.mark.slow
def test_a_disk_that_keeps_failing_interrupts_a_study_that_is_the_same_later(tmp_path: Path) -> None:
    whole = expected(tmp_path / "whole")
    for first, number in zip(moments(tmp_path / "counted"), cycle(FAILING), strict=False):
        folder = begun(tmp_path / str(first))
        WritingWorker.disk = Disk(number, first=first, times=1_000_000)
        with pytest.raises(DiskLostError, match=r"^trial \d( on test)?: a disk fails \(.*/home/ann/cache") as raised:
            run_toy(folder, worker=WritingWorker)
        assert "\n" not in str(raised.value)
        WritingWorker.disk.times = 0
        run_toy(folder, worker=WritingWorker)
        assert events(folder) == whole, f"at write {first}"


def wrapped(config: Config, report: Report) -> None:
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError as error:
        raise RuntimeError("no state saved") from error


def exiting(config: Config, report: Report) -> None:
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError as error:
        raise SystemExit("no state saved") from error


def as_a_mistake(config: Config, report: Report) -> None:
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError as error:
        raise UserError("no state saved") from error


@pytest.mark.first(1)
@pytest.mark.parametrize("saving", [wrapped, exiting, as_a_mistake])
def test_a_function_on_a_full_disk_interrupts_its_study_however_it_says_so(
    saving: Callable[[Config, Report], None], tmp_path: Path
) -> None:
    """The line says which trial, which error, and where in the function, since it may be the function's own mistake."""
    full = [False]

    def function(config: Config, report: Report) -> None:
        for epoch in range(1, 4):
            if full[0] and epoch == 3:
                saving(config, report)
            report(score=peak(config, epoch), epoch=epoch)

    whole = open_function(tmp_path / "whole", function, trials=4)
    run_function(whole, function)
    folder = open_function(tmp_path / "full", function, trials=4)
    full[0] = True
    with pytest.raises(OutOfSpaceError) as raised:
        run_function(folder, function)
    told = str(raised.value)
    assert told.startswith("trial 0: a disk is full (RuntimeError: ")
    assert "no state saved, from OSError: [Errno 28] No space left on device; at " in told
    assert f" in {saving.__name__}" in told
    full[0] = False
    run_function(folder, function)
    curves: list[list[Any]] = [
        [(each.kind, each.trial, each.epoch, each.score) for each in events(study) if each.kind == "reported"]
        for study in (folder, whole)
    ]
    assert curves[0] == curves[1]
    assert len(curves[0]) == 8


def task_of_a_toy(path: Path) -> TrialTask:
    config = toy_study().space.base
    return TrialTask(number=3, config=config, seeds=(0,), order_seed=0, lanes=1, folder=path, device="cpu")  # type: ignore[arg-type]


def test_a_new_worker_has_the_time_that_is_left_after_the_epochs_before(tmp_path: Path) -> None:
    made: list[TrialTask] = []

    class Slow(ToyWorker):
        def __init__(self, task: TrialTask) -> None:
            super().__init__(task)
            made.append(task)

        def run_epoch(self) -> EpochResult:
            result = super().run_epoch()
            if result.epoch == 3 and len(made) == 1:
                raise OSError(errno.EIO, "Input/output error")
            return replace(result, seconds=2.0)

    attempt = Attempt(Slow, replace(task_of_a_toy(tmp_path), time_left=10.0))
    results = [attempt.run_epoch() for _ in range(4)]
    assert [result.epoch for result in results if result is not None] == [1, 2, 3, 4]
    assert [(task.reported, task.time_left) for task in made] == [(0, 10.0), (2, 6.0)]


@pytest.mark.parametrize("phase", ["training", "testing"])
def test_measuring_again_after_weights_were_lost_is_interrupted_too(phase: str, tmp_path: Path) -> None:
    task = task_of_a_toy(tmp_path)
    WritingWorker.disk = Disk(errno.ENOSPC, first=1 if phase == "training" else 3, times=1)
    with pytest.raises(OutOfSpaceError, match="trial 3"):
        measured(WritingWorker, Measurement(task, (task,)))
    assert isinstance(measured(WritingWorker, Measurement(task, (task,))), Measured)


def test_an_interruption_that_is_no_matter_of_disks_passes_as_it_is(tmp_path: Path) -> None:
    class Lost(ToyWorker):
        def run_epoch(self) -> EpochResult:
            raise StudyInterruptedError("the cluster is gone")

    with pytest.raises(StudyInterruptedError, match=r"^the cluster is gone$"):
        Attempt(Lost, task_of_a_toy(tmp_path)).run_epoch()
