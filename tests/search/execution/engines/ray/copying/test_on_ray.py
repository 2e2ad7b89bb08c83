"""A study on a cluster that was joined, whose only machine sees the study's folder or is made not to see it."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import ray

from skipstack.search.execution.driver.driver import Reader
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import StudyInterruptedError
from skipstack.search.execution.driver.retention import Retention
from skipstack.search.execution.engines.ray import engine as module
from skipstack.search.execution.engines.ray.copying.remote_file_server import RemoteFileServer
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.execution.engines.ray.sharing import Sharing
from skipstack.search.execution.workers.attempts import ATTEMPT
from skipstack.search.ledger.events import Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, CHECKPOINT, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.changed import searched
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("default"),  # ray's own warnings are not ours to mend
]

WEIGHTS = 100_000
"""Bytes, which take a moment to send, so that not each epoch's are sent."""


class HeavyWorker(ToyWorker):
    """Leaves weights that say of which epoch they are, and a checkpoint; an epoch takes a second, as it says."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        self.task.folder.mkdir(parents=True, exist_ok=True)
        (self.task.folder / BEST).write_bytes(weights(self.task, result.epoch))
        (self.task.folder / CHECKPOINT).write_bytes(bytes(WEIGHTS))
        return replace(result, seconds=1.0)

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        of = (task.folder / BEST).read_bytes()
        return Measured(metrics={"test_accuracy": (float(of.split()[1]) / 100,) * len(task.seeds)})


def weights(task: TrialTask, epoch: int) -> bytes:
    return f"{task.config.identity} {epoch} ".encode().ljust(WEIGHTS)


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    """On a cluster that runs in this process before it, and goes on after it."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error", address="local")
    try:
        started = RayEngine(HeavyWorker, address=None, gpus_per_trial=0)
        yield started
        started.close()
    finally:
        ray.shutdown()


class Seeing(Preflight):
    """Asks for no corpora: toys have none."""

    @classmethod
    def of(cls, folder: StudyFolder, record: StudyRecord, *, copies: bool) -> Preflight:
        return replace(Preflight.of(folder, record, copies=copies), corpora=(), vectors=())


class Blind(Seeing):
    """Has each process look for the study's folder where nothing is."""

    @classmethod
    def of(cls, folder: StudyFolder, record: StudyRecord, *, copies: bool) -> Preflight:
        found = super().of(folder, record, copies=copies)
        return replace(found, mark=replace(found.mark, trials=found.mark.trials / "elsewhere"))


def run(engine: RayEngine, path: Path, *readers: Reader, **search: Any) -> tuple[StudyRecord, list[int]]:
    """The record of a study that begins or goes on, and the trials whose last files came after their end; the weights
    of each trial are those of its last epoch, and no checkpoint is left.
    """
    late: list[int] = []
    folder = StudyFolder(path)
    if not folder.ledger.exists():
        open_toy(path, searched(toy_study(trials=12, epochs=8), **search))
        (folder.corpora / "none").mkdir(parents=True)
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        retention = Retention(folder, lambda: driver.record)
        driver.listen(retention, *readers)
        engine.on_late_files = lambda trial: (late.append(trial), retention.arrived(trial))[1]
        run_study(driver, engine)
    for number, trial in driver.record.trials.items():
        assert trial.reason in ("completed", "stopped"), trial.message
        left = {each.name: each.read_bytes() for each in folder.trial(number).iterdir() if each.name != ATTEMPT}
        assert left == {BEST: weights(driver.task(number), len(trial.reports))}, number
        if trial.tested:
            assert set(trial.tested["test_accuracy"]) == {len(trial.reports) / 100}
    assert any(trial.tested for trial in driver.record.trials.values())
    return driver.record, late


@pytest.mark.slow
def test_nothing_is_copied_to_a_machine_that_sees_the_folder(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Preflight", Seeing)
    run(engine, tmp_path)
    assert engine._copying is not None
    assert engine._copying.server.moved() == 0


EPOCHS = {"kind": "asha", "reduction": 2}
SECONDS = {"kind": "asha", "reduction": 2, "resource": "seconds", "grace": 3, "maximum": 8}


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", [pytest.param(EPOCHS, marks=pytest.mark.cluster), SECONDS])
def test_what_trials_leave_on_a_machine_that_does_not_see_the_folder_is_there_when_they_have_ended(
    scheduler: dict[str, Any], engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rungs in seconds end trials by surprise, soon after files were sent: the last ones come late."""
    monkeypatch.setattr(module, "Preflight", Blind)
    record, late = run(engine, tmp_path, scheduler=scheduler)
    assert engine._copying is not None
    assert engine._copying.server.moved() > WEIGHTS * len(record.trials)
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    assert bool(late) == (scheduler is SECONDS)


def one_program(task: TrialTask) -> TrialTask:
    """Of all trials, which here train nothing."""
    config: Any = None
    return replace(task, number=0, config=config, folder=Path(), reported=0, attempt=1)


@pytest.mark.cluster
def test_trials_that_share_a_process_send_each_its_own(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Preflight", Blind)
    monkeypatch.setattr(engine, "_sharing", Sharing(3, one_program))
    record, late = run(engine, tmp_path, scheduler=SECONDS)
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    assert late, "some had to send the rest while others trained on"
    assert all(trial.starts == 1 for trial in record.trials.values())


class TerminatedWorker(HeavyWorker):
    """Its process is told to end in the fifth epoch of trial 1, soon after files were sent; then it needs the rest."""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 1 and self.task.attempt == 1 and self.epoch == 4:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)  # it comes in between
        if self.task.attempt == 2 and self.epoch == self.task.reported:
            assert (self.task.folder / BEST).read_bytes() == weights(self.task, self.epoch), "nothing was lost"
        return super().run_epoch()


@pytest.mark.cluster
def test_a_process_that_is_told_to_end_sends_what_its_trial_has_left(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Preflight", Blind)
    monkeypatch.setattr(engine, "worker", TerminatedWorker)
    record, _ = run(engine, tmp_path, scheduler={"kind": "none"})
    assert [retry.cause for retry in record.trials[1].retries] == ["crashed"]


@pytest.mark.cluster
def test_a_file_server_that_dies_interrupts_the_study_which_another_one_goes_on_with(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "Preflight", Blind)
    killed: list[Event] = []

    def kill(event: Event) -> None:
        if isinstance(event, Reported) and event.trial == 2 and not killed:
            killed.append(event)
            assert engine._copying is not None
            assert isinstance(engine._copying.server, RemoteFileServer)
            ray.kill(engine._copying.server.actor)

    with pytest.raises(StudyInterruptedError, match="the driver's machine, which keeps the study's files"):
        run(engine, tmp_path, kill)
    record, _ = run(engine, tmp_path)
    assert len(record.trials) == 12
