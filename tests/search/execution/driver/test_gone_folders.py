"""The folder of a running study is moved or deleted: one true line, no failed trial, nothing in its place."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from skipstack.search.execution.driver.faults import StudyGoneError
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.execution.workers.trial_files import TrialFiles
from skipstack.search.ledger.events import Ended, Event, Interrupted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, StudyFolder, make_trial_folder
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.functions import Config, open_function, peak, run_function
from tests.search.killing import timeless
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study


@dataclass
class GoneWorkers:
    """Workers that write a file in each epoch. ``gone`` happens once, just before the ``at``-th write or test."""

    at: int
    gone: Callable[[], object]
    done: int = 0

    def come(self) -> None:
        self.done += 1
        if self.done == self.at:
            self.gone()

    def __call__(self, task: TrialTask) -> ToyWorker:
        come = self.come

        class Writing(ToyWorker):
            def run_epoch(self) -> EpochResult:
                come()
                result = super().run_epoch()
                TrialFiles(task.folder, task.attempt).write(BEST, {}, {"epoch": result.epoch})
                return result

        return Writing(task)

    def test(self, task: TrialTask) -> Measured:
        self.come()
        return ToyWorker.test(task)


def begun(path: Path) -> StudyFolder:
    return open_toy(path, toy_study(trials=3, proposer="grid", epochs=2))


def events(folder: Path) -> list[Event]:
    return [event for event in timeless(Ledger(folder / "ledger").read()) if not isinstance(event, Interrupted)]


def test_a_study_that_is_moved_at_any_moment_goes_on_at_its_new_place_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    counted = GoneWorkers(0, tmp_path.exists)
    run_toy(begun(tmp_path / "whole"), worker=counted)
    assert counted.done > 4
    for at in range(1, counted.done + 1):
        here, there = tmp_path / f"here-{at}", tmp_path / f"there-{at}"
        begun(here)
        with pytest.raises(StudyGoneError) as raised:
            run_toy(StudyFolder(here), worker=GoneWorkers(at, lambda old=here, new=there: old.rename(new)))
        assert str(raised.value) == f"{here}: the study's folder is gone, it was moved to {there} while the study ran"
        assert raised.value.now == there
        assert not here.exists()
        run_toy(StudyFolder(there), worker=GoneWorkers(0, tmp_path.exists))
        assert events(there) == events(tmp_path / "whole"), f"moved at {at}"


def test_a_study_whose_folder_is_deleted_says_that_its_records_are_lost_and_writes_no_new_folder(
    tmp_path: Path,
) -> None:
    for at in range(1, 6):
        folder = begun(tmp_path / str(at))
        with pytest.raises(StudyGoneError, match=r"it was deleted while the study ran: all that .* is lost") as raised:
            run_toy(folder, worker=GoneWorkers(at, lambda path=folder.path: shutil.rmtree(path)))
        assert raised.value.now is None
        assert "\n" not in str(raised.value)
        assert not folder.path.exists()


def test_a_folder_that_lies_in_its_place_is_not_written(tmp_path: Path) -> None:
    """Another study has begun where the first was."""
    here, there = tmp_path / "here", tmp_path / "there"
    begun(here)

    def replaced() -> None:
        here.rename(there)
        begun(here)

    with pytest.raises(StudyGoneError, match=f"it was moved to {there}"):
        run_toy(StudyFolder(here), worker=GoneWorkers(2, replaced))
    other = Ledger(here / "ledger").read()
    assert not any(isinstance(event, Ended) for event in other)
    assert len(other) == 2


def test_a_function_whose_folder_was_moved_fails_no_trial(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"

    def function(config: Config, report: Report) -> None:
        for epoch in range(1, 4):
            if here.exists() and epoch == 2:
                here.rename(there)
            (report.folder / "state").write_text(str(epoch))
            report(score=peak(config, epoch), epoch=epoch)

    open_function(here, function, trials=3)
    with pytest.raises(StudyGoneError, match=f"it was moved to {there}"):
        run_function(StudyFolder(here), function)
    assert not here.exists()
    record = run_function(StudyFolder(there), function)
    assert {trial.state for trial in record.trials.values()} <= {"completed", "stopped"}


@pytest.mark.parametrize("below", ["trials/000000", "trials/000000/seeds-from-2", "ablations/1/000000/seed-0"])
def test_folders_of_trials_are_made_in_a_study_that_is_there_alone(below: str, tmp_path: Path) -> None:
    make_trial_folder(tmp_path / below)
    assert (tmp_path / below).is_dir()
    with pytest.raises(FileNotFoundError):
        make_trial_folder(tmp_path / "gone" / below)
    assert not (tmp_path / "gone").exists()
