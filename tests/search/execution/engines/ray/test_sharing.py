"""Trials that share processes on a real Ray cluster: each as by itself, under ASHA, kills and resumption."""

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray

from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.engines.ray.sharing import Sharing
from skipstack.search.execution.workers.logged import LoggedWorkers
from skipstack.search.execution.workers.programs import program_of
from skipstack.search.execution.workers.training_workers import TrainingWorkers
from skipstack.search.ledger.events import Decided, Metrics, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers
from tests.search.changed import searched
from tests.search.execution.engines.test_serial import Killed, KilledError, checked, study
from tests.search.poison import PoisonedWorker
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend

MOST = 3


def by_depth(task: TrialTask) -> TrialTask:
    """Stands for ``program_of``: trials of one depth share a place."""
    config: Any = task.config
    return replace(task, number=0, config=config.model_copy(update={"training": None}), folder=Path(), attempt=1)


class TellingWorker(ToyWorker):
    """Says in which process it trains."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        metrics: Metrics = {**result.metrics, "process": (float(os.getpid()),) * len(self.task.seeds)}
        return replace(result, metrics=metrics)


def die_once(folder: Path) -> None:
    """Kill this process, the first time that the trial of this folder asks for it."""
    if not (folder / "killed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)


class DeadlyWorker(ToyWorker):
    """The process dies in the third epoch of trial 1."""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 1 and self.epoch == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run_epoch()


class DeadlyOnceWorker(ToyWorker):
    """It does so a single time."""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 1 and self.epoch == 2:
            die_once(self.task.folder)
        return super().run_epoch()


@pytest.fixture
def on_ray() -> Iterator[Callable[..., StudyRecord]]:
    """Runs what is left of a study on a cluster of its own."""
    engines: list[RayEngine] = []

    def run(
        folder: StudyFolder, worker: Workers, *, cpus: int = 1, gpus: float = 0, killed_after: int = 0, **options: Any
    ) -> StudyRecord:
        with pytest.MonkeyPatch.context() as pretending:
            pretending.setattr(ray, "init", partial(ray.init, num_gpus=1 if gpus else 0, num_cpus=cpus))
            engines.append(RayEngine(worker, address=None, gpus_per_trial=gpus, **options))
        try:
            with Ledger(folder.ledger) as ledger:
                driver = toy_driver(folder, ledger)
                driver.listen(Killed(killed_after))
                run_study(driver, engines[-1])
            return driver.record
        finally:
            engines.pop().close()

    yield run
    for engine in engines:
        engine.close()


def held_at_a_time(record: StudyRecord, folder: StudyFolder) -> int:
    """How many trials one process was seen to hold at a time, by their reports."""
    reports = defaultdict[float, list[int]](list)
    with Ledger(folder.ledger) as ledger:
        for event in ledger.read():
            if isinstance(event, Reported):
                reports[event.metrics["process"][0]].append(event.trial)
    last = {number: len(trial.reports) for number, trial in record.trials.items()}
    most = 0
    for told in reports.values():
        done = dict.fromkeys(told, 0)
        for trial in told:
            done[trial] += 1
            most = max(most, sum(0 < count < last[each] for each, count in done.items()))
    return most


@pytest.mark.slow
def test_a_place_holds_so_many_trials_of_one_program_and_others_follow(
    on_ray: Callable[..., StudyRecord], tmp_path: Path
) -> None:
    folder = open_toy(tmp_path, toy_study(trials=18))
    record = on_ray(folder, TellingWorker, sharing=Sharing(MOST, by_depth))
    assert len(record.ranked()) == 18
    assert 1 < held_at_a_time(record, folder) <= MOST
    with Ledger(folder.ledger) as ledger:
        assert {"continue", "stop"} <= {event.decision for event in ledger.read() if isinstance(event, Decided)}


@pytest.mark.cluster
@pytest.mark.parametrize(("worker", "reason", "crashes"), [(DeadlyWorker, "crashed", 2), (DeadlyOnceWorker, None, 1)])
def test_a_process_that_dies_costs_its_trials_a_retry_and_ends_the_one_that_kills_it(
    worker: Workers, reason: str | None, crashes: int, on_ray: Callable[..., StudyRecord], tmp_path: Path
) -> None:
    folder = open_toy(tmp_path, searched(toy_study(trials=MOST), scheduler={"kind": "none"}))
    record = on_ray(folder, worker, sharing=Sharing(MOST, lambda task: replace(by_depth(task), config=None)))
    assert [trial.reason for trial in record.trials.values()] == ["completed", reason or "completed", "completed"]
    assert [len(trial.retries) for trial in record.trials.values()] == [1, crashes, 1]
    assert "3 trials shared it" in record.trials[0].retries[0].message


@pytest.mark.cluster
def test_of_trials_that_share_a_gpu_one_that_breaks_it_is_all_that_is_lost(
    on_ray: Callable[..., StudyRecord], tmp_path: Path
) -> None:
    folder = open_toy(tmp_path, toy_study(trials=12))
    record = on_ray(folder, PoisonedWorker, cpus=4, gpus=0.5, sharing=Sharing(MOST, by_depth))
    assert [number for number, trial in record.trials.items() if trial.reason == "crashed"] == [2]
    assert len(record.ranked()) == 11


SHARED = LoggedWorkers(TrainingWorkers(shared=True), own_process=True)
PROGRAMS = Sharing(4, partial(program_of, trials=4))


@pytest.mark.cluster
def test_networks_that_share_places_report_what_each_would_by_itself(
    on_ray: Callable[..., StudyRecord], tmp_path: Path
) -> None:
    folder = study(tmp_path / "study", trials=6)
    record = on_ray(folder, SHARED, sharing=PROGRAMS)
    assert len(record.ranked()) == 6
    checked(folder, tmp_path / "alone")


class DyingWorker(Worker):
    """Its process dies once, with the first epoch of trial 1 trained and not reported."""

    def __init__(self, task: TrialTask, worker: Worker) -> None:
        super().__init__(task)
        self._worker = worker

    def run_epoch(self) -> EpochResult | None:
        result = self._worker.run_epoch()
        if self.task.number == 1:
            die_once(self.task.folder)
        return result

    def close(self) -> None:
        self._worker.close()

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        raise NotImplementedError


class DyingWorkers(Workers):
    """Create workers that share programs, of which one dies."""

    def __init__(self) -> None:
        self._workers = TrainingWorkers(shared=True)

    def __call__(self, task: TrialTask) -> Worker:
        return DyingWorker(task, self._workers(task))

    def test(self, task: TrialTask) -> Measured:
        return self._workers.test(task)


@pytest.mark.cluster
def test_networks_that_share_places_go_on_after_a_kill_and_a_resumption(
    on_ray: Callable[..., StudyRecord], tmp_path: Path
) -> None:
    folder = study(tmp_path / "study", trials=8)
    with pytest.raises(KilledError):
        on_ray(folder, SHARED, sharing=PROGRAMS, killed_after=3)
    record = on_ray(folder, SHARED, sharing=PROGRAMS)
    assert len(record.ranked()) == 8
    checked(folder, tmp_path / "alone")


@pytest.mark.cluster
def test_networks_whose_process_dies_go_on_from_their_checkpoints(
    on_ray: Callable[..., StudyRecord], tmp_path: Path
) -> None:
    folder = study(tmp_path / "study", trials=6)
    record = on_ray(folder, LoggedWorkers(DyingWorkers(), own_process=True), sharing=PROGRAMS)
    assert len(record.ranked()) == 6
    assert [each.cause for each in record.trials[1].retries] == ["crashed"]
    checked(folder, tmp_path / "alone")
