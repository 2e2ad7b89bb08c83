"""Processes and GPUs that break, on a real cluster whose GPUs are pretended: the workers train nothing."""

from functools import partial
from pathlib import Path

import pytest
import ray

from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import DeviceBrokenError
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import Workers
from tests.search.functions import open_function
from tests.search.poison import AssertingWorker, BrokenOnceWorker, OnBrokenCard, PoisonedWorker, first_breaks
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("default"),  # ray's own warnings are not ours to mend
]


def on_ray(
    folder: StudyFolder, worker: Workers, told: list[str], monkeypatch: pytest.MonkeyPatch, gpus: int = 2
) -> StudyRecord:
    """Run a study on one machine of two CPUs and so many GPUs, two trials on each; what the engine says is added."""
    with monkeypatch.context() as pretending:
        pretending.setattr(ray, "init", partial(ray.init, num_gpus=gpus))
        pretending.setattr("skipstack.search.execution.engines.ray.machines.own_cpus", lambda: 2)
        engine = RayEngine(worker, address=None, gpus_per_trial=0.5)
    engine.say = told.append
    try:
        with Ledger(folder.ledger) as ledger:
            driver = toy_driver(folder, ledger)
            run_study(driver, engine)
        return driver.record
    finally:
        engine.close()


def of_reason(record: StudyRecord, reason: str) -> list[int]:
    return [number for number, trial in record.trials.items() if trial.reason == reason]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worker", "reason", "ends", "causes"),
    [
        (PoisonedWorker, "crashed", [2], ["crashed", "crashed"]),
        pytest.param(AssertingWorker, "failed", [2], [], marks=pytest.mark.cluster),
        pytest.param(BrokenOnceWorker, "crashed", [], ["crashed"], marks=pytest.mark.cluster),
    ],
)
def test_of_24_trials_one_that_breaks_its_process_is_all_that_is_lost(
    worker: Workers, reason: str, ends: list[int], causes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    record = on_ray(open_toy(tmp_path, toy_study(trials=24)), worker, told, monkeypatch)
    assert of_reason(record, reason) == ends
    assert len(record.ranked()) == 24 - len(ends)
    assert [each.cause for each in record.trials[2].retries] == causes
    assert not any(trial.retries for number, trial in record.trials.items() if number != 2)
    assert told == []


@pytest.mark.cluster
def test_a_card_that_breaks_trials_is_left_alone_and_named_and_the_other_trains_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    record = on_ray(open_toy(tmp_path, toy_study(trials=16)), OnBrokenCard, told, monkeypatch)
    assert len(record.ranked()) == 16
    (line,) = told
    assert line.startswith("GPU 0 of machine ")
    assert "is left alone: 3 times in a row, a trial broke there (its GPU failed: AcceleratorError: CUDA" in line
    assert {value for trial in record.trials.values() for each in trial.reports for value in each.metrics["gpu"]} == {
        1.0
    }
    causes = [each.cause for trial in record.trials.values() for each in trial.retries]
    assert causes.count("crashed") == 2
    assert causes.count("lost") <= 6, "once it is fenced, nobody comes there"


@pytest.mark.cluster
def test_without_another_card_the_study_is_interrupted_and_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = open_toy(tmp_path, toy_study(trials=6)), list[str]()
    with pytest.raises(
        DeviceBrokenError, match=r"trials fit nowhere else, and GPU 0 of machine .* breaks them, 3 in a row"
    ):
        on_ray(folder, OnBrokenCard, told, monkeypatch, gpus=1)
    record = run_toy(folder, worker=ToyWorker)
    assert len(record.ranked()) == 6


@pytest.mark.cluster
def test_a_function_that_breaks_its_process_costs_one_trial_a_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_function(tmp_path, first_breaks, trials=12)
    record = on_ray(folder, FunctionWorkers(first_breaks), [], monkeypatch)
    assert len(record.ranked()) == 12
    assert [each.cause for trial in record.trials.values() for each in trial.retries] == ["crashed"]
