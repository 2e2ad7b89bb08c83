"""A trial trained again: equal bit for bit, or the first difference by name; and the study is left alone."""

import math
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.rerun import Difference, rerun
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import EpochResult
from tests.search.changed import searched
from tests.search.toy import FailingWorker, ToyWorker, open_toy, run_toy, toy_study


class Drifting(ToyWorker):
    """Its third epoch is off by one bit in one lane."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        if result.epoch != 3:
            return result
        first, second = result.metrics["dev_accuracy"]
        metrics = {**result.metrics, "dev_accuracy": (first, math.nextafter(second, 1))}
        return EpochResult(epoch=3, score=result.score, metrics=metrics, seconds=result.seconds)


class Broken(ToyWorker):
    """Fails in its second epoch."""

    def run_epoch(self) -> EpochResult:
        if self.epoch == 1:
            raise RuntimeError("no\nluck")
        return super().run_epoch()


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = open_toy(tmp_path / "study", toy_study(trials=9, proposer="grid"))
    run_toy(folder, worker=FailingWorker)
    return folder.path


def again(study: Path, number: int, worker: type[ToyWorker], scratch: Path) -> tuple[Difference | None, list[str]]:
    told: list[str] = []
    record = read_study(study)
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    found = rerun(record, StudyFolder(study), number, worker, scratch=scratch, device="cpu", tell=told.append)
    assert {path: path.read_bytes() for path in study.rglob("*") if path.is_file()} == before
    return found, told


def test_the_same_program_gives_the_same_curve_of_every_trial_that_reported(study: Path, tmp_path: Path) -> None:
    record = read_study(study)
    reported = [trial for trial in record.trials.values() if trial.reports]
    assert {"completed", "diverged"} <= {trial.reason for trial in reported}
    for trial in reported:
        found, told = again(study, trial.number, FailingWorker, tmp_path)
        assert found is None
        assert len(told) == len(trial.reports)


def test_seeds_that_raced_are_trained_again_group_by_group(tmp_path: Path) -> None:
    race = {"kind": "asha", "reduction": 2, "resource": "seeds"}
    folder = open_toy(tmp_path / "race", searched(toy_study(trials=9, proposer="grid"), scheduler=race, seeds=4))
    trials = run_toy(folder).trials.values()
    assert max(len({report.seeds for report in trial.reports}) for trial in trials) > 1
    for trial in trials:
        found, told = again(folder.path, trial.number, ToyWorker, tmp_path / "scratch")
        assert found is None
        assert len(told) == len(trial.reports)


def test_a_single_bit_is_a_difference_and_is_named(study: Path, tmp_path: Path) -> None:
    recorded = read_study(study).trials[0].reports[2].metrics["dev_accuracy"][1]
    found, told = again(study, 0, Drifting, tmp_path)
    assert found == Difference(
        epoch=3, name="dev_accuracy of seed 1", recorded=str(recorded), now=str(math.nextafter(recorded, 1))
    )
    assert told == ["epoch 1 of 4: equal", "epoch 2 of 4: equal"]


def test_a_trial_that_fails_now_differs(study: Path, tmp_path: Path) -> None:
    found, _ = again(study, 0, Broken, tmp_path)
    assert found == Difference(epoch=2, name="outcome", recorded="a report", now="RuntimeError: no luck")


def test_only_trials_with_a_curve_can_be_compared(study: Path, tmp_path: Path) -> None:
    failed = next(trial.number for trial in read_study(study).trials.values() if not trial.reports)
    with pytest.raises(UserError, match="reported no epoch"):
        again(study, failed, ToyWorker, tmp_path)
    with pytest.raises(UserError, match=r"trial 99 is not in this study \(allowed: 0 to 8\)"):
        again(study, 99, ToyWorker, tmp_path)
