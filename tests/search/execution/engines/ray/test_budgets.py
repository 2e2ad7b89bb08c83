"""How many trials run at a time on Ray, on how many CPUs, and for how long: on a cluster that the test starts."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import ray

from skipstack.search.execution.driver import driver as module
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray import machines
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.events import Ended, Metrics, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.changed import searched
from tests.search.functions import open_function
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("default"),  # ray's own warnings are not ours to mend
]

CPUS = 4
"""Of the cluster, whatever the machine has."""

Span = tuple[float, float]


@contextmanager
def started(worker: Any, **options: Any) -> Iterator[RayEngine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machines, "own_cpus", lambda: CPUS)
        engine = RayEngine(worker, address=None, gpus_per_trial=0, **options)
    try:
        yield engine
    finally:
        engine.close()


def run(engine: RayEngine, folder: StudyFolder, clock: Callable[[], float] = time.time) -> StudyRecord:
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        run_study(driver, engine)
    return driver.record


def at_once(spans: list[Span]) -> int:
    """How many of these spans of time overlap, at most."""
    return max(sum(begun <= moment < ended for begun, ended in spans) for moment, _ in spans)


def spent(work: Callable[[], Metrics], seeds: int) -> Metrics:
    """The metrics of some work that takes a while, with the time when it began and ended."""
    began = time.monotonic()
    time.sleep(0.1)
    return {**work(), "began": (began,) * seeds, "ended": (time.monotonic(),) * seeds}


class TimedWorker(ToyWorker):
    """Says when it trains and measures."""

    def run_epoch(self) -> EpochResult:
        told: list[EpochResult] = []

        def work() -> Metrics:
            told.append(super(TimedWorker, self).run_epoch())
            return told[0].metrics

        metrics = spent(work, len(self.task.seeds))
        return EpochResult(epoch=told[0].epoch, score=told[0].score, metrics=metrics, seconds=0.1)

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        told = ToyWorker.test(task)
        return Measured(metrics=spent(lambda: told.metrics, len(task.seeds)), sentences=told.sentences)


@pytest.mark.slow
def test_no_more_run_at_a_time_than_asked_for_and_no_more_are_measured(tmp_path: Path) -> None:
    study = searched(toy_study(trials=9, proposer="grid"), scheduler="none")
    with started(TimedWorker, concurrent=2) as engine:
        assert engine.words == "each trial gets 1 CPU and no GPU: 4 side by side; at most 2 at a time"
        record = run(engine, open_toy(tmp_path, study))
    trials = record.trials.values()
    trained = [(trial.reports[0].metrics["began"][0], trial.reports[-1].metrics["ended"][0]) for trial in trials]
    assert at_once(trained) <= 2
    assert {trial.reason for trial in trials} == {"completed"}
    measured = [(trial.tested["began"][0], trial.tested["ended"][0]) for trial in trials if trial.tested]
    assert len(measured) == 9
    assert at_once(measured) <= 2
    events = Ledger(tmp_path / "ledger").read()
    begun = {event.trial: event.time for event in events if isinstance(event, Started)}
    ended = {event.trial: event.time for event in events if isinstance(event, Ended)}
    assert at_once([(begun[number], ended[number]) for number in begun]) == 2


def telling(config: Mapping[str, Any], report: Report) -> None:
    """Reports what it was given to compute with."""
    given = ray.get_runtime_context().get_assigned_resources()
    began = time.monotonic()
    time.sleep(0.2)
    report(
        score=config["x"],
        cpus=given["CPU"],
        threads=float(os.environ["OMP_NUM_THREADS"]),
        began=began,
        ended=time.monotonic(),
    )


class SilentWorker(ToyWorker):
    """Trial 1 reports once, all others as often as they may."""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 1 and self.epoch == 1:
            self.task.folder.parent.mkdir(exist_ok=True)
            (self.task.folder.parent / "silent").touch()
            threading.Event().wait(600)
        return super().run_epoch()


@pytest.mark.cluster
def test_a_function_gets_its_cpus_and_a_silent_trial_holds_no_study_whose_hours_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHORTEST_WAIT", 1.0)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with started(FunctionWorkers(telling), cpus_per_trial=2) as engine:
        assert engine.words == "each trial gets 2 CPUs and no GPU: 2 side by side"
        record = run(engine, open_function(tmp_path / "function", telling, trials=6, seeds=1))
        trials = [trial.reports[0].metrics for trial in record.trials.values()]
        assert {(each["cpus"], each["threads"]) for each in trials} == {((2.0,), (2.0,))}
        assert at_once([(each["began"][0], each["ended"][0]) for each in trials]) <= 2
        engine.worker = SilentWorker
        folder = open_toy(
            tmp_path / "silent", searched(toy_study(trials=500, proposer="random"), hours=9.0, scheduler="none")
        )
        silent = folder.trials / "silent"
        record = run(engine, folder, clock=lambda: time.time() + 3600 * 9.5 * silent.exists())
    assert record.finished
    assert record.over is not None
    assert record.over.left_out == 500 - len(record.trials)
    assert (record.trials[1].reason, len(record.trials[1].reports)) == ("stopped", 1)
    assert record.trials[1].message == "no report within 1 s"
    cut = [trial.message for number, trial in record.trials.items() if trial.message and number != 1]
    assert set(cut) <= {"stopped at the next report", "not continued"}
    assert len(cut) <= 1, "the one beside it"
    assert record.ranked()[0].tested


@pytest.mark.cluster
def test_one_at_a_time_on_ray_is_the_study_of_the_serial_engine(tmp_path: Path) -> None:
    study = toy_study(trials=12)
    with started(ToyWorker, concurrent=1) as engine:
        run(engine, open_toy(tmp_path / "ray", study))
    run_toy(open_toy(tmp_path / "serial", study))
    on_ray, serial = (
        [
            event.model_copy(update={"time": 0.0})
            for event in Ledger(tmp_path / name / "ledger").read()
            if event.kind != "begun"  # in this process, no trial waits for a worker
        ]
        for name in ("ray", "serial")
    )
    tested = [sorted(event.trial for event in events if event.kind == "tested") for events in (on_ray, serial)]
    assert tested[0] == tested[1]
    assert [each for each in on_ray if each.kind != "tested"] == [each for each in serial if each.kind != "tested"]
