"""A study in which seconds count: what it decides follows from its ledger, and its reports say what trials cost."""

import json
from pathlib import Path

import pytest

from skipstack.search.ledger.events import Proposed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult
from tests.search.changed import searched
from tests.search.killing import killed_and_resumed
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study


class TimedWorker(ToyWorker):
    """An epoch takes four times as long with each further layer."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        return EpochResult(
            epoch=result.epoch,
            score=result.score,
            metrics=result.metrics,
            seconds=4.0**self.task.config.model.stack.depth,
        )


def study(*, per_second: bool, trials: int = 16) -> StudyConfig:
    return searched(toy_study(trials=trials), proposer={"kind": "tpe", "per_second": per_second}, scheduler=None)


def run(folder: StudyFolder, ledger: Ledger | None = None) -> StudyRecord:
    return run_toy(folder, ledger, worker=TimedWorker)


@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_with_the_same_points(tmp_path: Path) -> None:
    events = killed_and_resumed(tmp_path, lambda path: open_toy(path, study(per_second=True)), run, moments=5)
    points = [json.dumps(event.point, sort_keys=True) for event in events if isinstance(event, Proposed)]
    assert len(points) == 16
    free = run(open_toy(tmp_path / "free", study(per_second=False)))
    assert points != [json.dumps(trial.point, sort_keys=True) for trial in free.trials.values()]


@pytest.mark.parametrize("resource", ["epochs", "seeds"])
def test_the_seconds_of_one_seed_count(resource: str, tmp_path: Path) -> None:
    """Where seeds race, a report is of some of them."""
    asha = {"kind": "asha", "grace": 1, "reduction": 2, "resource": resource}
    folder = open_toy(tmp_path, searched(study(per_second=True, trials=12), scheduler=asha, seeds=4))
    record = run(folder)
    assert len(record.trials) == 12
    assert run(folder).trials.keys() == record.trials.keys()
