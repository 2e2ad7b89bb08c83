"""The engine on a real Ray cluster, started by the test, with workers that train nothing."""

import math
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.new_machines import NewMachines
from skipstack.search.execution.engines.ray import engine as module
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.engines.ray.machines import check_address
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Decided, Ended, Metrics, Promoted, Reported, Untested
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.changed import changed, scheduler_of, searched
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("default"),  # ray's own warnings are not ours to mend
]


def die_once(folder: Path) -> None:
    """Kill this process, the first time that the trial of this folder asks for it."""
    mark = folder / "killed"
    if not mark.exists():
        folder.mkdir(parents=True)
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


class TellingWorker(ToyWorker):
    """Says in which process it trains, and needs its own folder to be reachable from there.

    The process of trial 0, which is never stopped, is killed in its second epoch, the first time it comes to it.
    """

    def run_epoch(self) -> EpochResult:
        assert self.task.folder.is_absolute()
        if self.task.number == 0 and self.epoch == 1:
            die_once(self.task.folder)
        result = super().run_epoch()
        metrics: Metrics = {**result.metrics, "process": (float(os.getpid()),) * len(self.task.seeds)}
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=0.0)


class TroubledWorker(ToyWorker):
    """Three trials have troubles: one raises, one takes its process with it each time, one is killed a single time.

    They are known by what they try. The one that is killed dies in its second epoch, the first time it comes to it.
    """

    RAISES, DIES, IS_KILLED = (3, 0.001), (3, 0.02), (2, 0.02)

    def run_epoch(self) -> EpochResult:
        config = self.task.config
        tried = (config.model.stack.depth, config.training.optimiser.learning_rate)
        if tried == self.RAISES:
            raise RuntimeError("out\nof luck")
        if tried == self.DIES:
            os._exit(1)
        if tried == self.IS_KILLED and self.epoch == 1:
            die_once(self.task.folder)
        return super().run_epoch()


class HungryWorker(ToyWorker):
    """Depth 2 needs twice the share of depth 1, depth 3 more than there is."""

    def run_epoch(self) -> EpochResult:
        if self.task.share < self.task.config.model.stack.depth:
            raise MemoryError("no room")
        return super().run_epoch()


class MistakenWorker(ToyWorker):
    """Finds that the study cannot run at all."""

    def run_epoch(self) -> EpochResult:
        raise UserError("the corpus has gone (allowed: a corpus that is there)")


class MistakenTests(ToyWorker):
    """Trains, but the corpus is gone once it is tested on it."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        raise UserError("the corpus has gone (allowed: a corpus that is there)")


class InterruptingWorker(ToyWorker):
    """Ends the whole study at trial 6."""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 6:
            raise UserError("that is enough (allowed: to go on later)")
        return super().run_epoch()


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    """On a cluster of its own, which is there for every test of this file: none may close it."""
    started = RayEngine(ToyWorker, address=None, gpus_per_trial=0)
    yield started
    started.close()


def run(engine: RayEngine, worker: type[ToyWorker], path: Path, **study: object) -> tuple[StudyRecord, Ledger]:
    engine.worker = worker
    folder = open_toy(path, toy_study(**study))  # type: ignore[arg-type]
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        run_study(driver, engine)
    return driver.record, ledger


class TellingTests(TellingWorker):
    """Says in which process it measures, too."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        found = super().test(task)
        process = {"process": (float(os.getpid()),) * len(task.seeds)}
        return Measured(metrics={**found.metrics, **process}, sentences=found.sentences)


class TroubledTests(ToyWorker):
    """The process that measures trial 0 dies once, that of trial 1 always; trial 2 runs out of memory once."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        mark = task.folder / "measured"
        first = not mark.exists()
        task.folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        if task.number == 1 or (task.number == 0 and first):
            os.kill(os.getpid(), signal.SIGKILL)
        if task.number == 2 and task.share == 1:
            raise MemoryError("no room")
        return super().test(task)


def test_a_study_runs_to_its_end_and_every_decision_is_the_one_that_replaying_gives(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record, ledger = run(engine, TellingWorker, Path("relative"), trials=12)
    events = ledger.read()
    assert record.finished
    assert len(record.trials) == 12
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    asha = Asha(AshaConfig(grace=1, reduction=2), 4, spared=frozenset({0}))
    decisions = [event for event in events if isinstance(event, Decided)]
    for report, decision in zip([e for e in events if isinstance(e, Reported)], decisions, strict=True):
        assert asha.report(report.trial, report.epoch, report.score) == Decision(decision.decision, decision.rung)
    assert len([event for event in events if isinstance(event, Ended)]) == 12
    assert {
        number: [retry.cause for retry in trial.retries] for number, trial in record.trials.items() if trial.retries
    } == {0: ["crashed"]}
    told = {
        number: [each.kind for each in events if getattr(each, "trial", None) == number] for number in record.trials
    }
    for trial in told:  # it waits for a worker each time, and is taken up before it reports
        kinds = [kind for kind in told[trial] if kind in ("started", "begun", "reported")]
        runs = " ".join(kinds).split("started")[1:]
        assert all(run.split()[0] == "begun" and run.count("begun") == 1 for run in runs), kinds
    processes = {report.metrics["process"][0] for trial in record.trials.values() for report in trial.reports}
    assert len(processes) < 6, "actors are kept from trial to trial"
    assert all(trial.tested for trial in record.ranked()[:1])


@pytest.mark.slow
def test_a_process_that_has_trained_measures(engine: RayEngine, tmp_path: Path) -> None:
    trials = run(engine, TellingTests, tmp_path / "study", trials=6)[0].trials.values()
    trained = {report.metrics["process"][0] for trial in trials for report in trial.reports}
    measured = {trial.tested["process"][0] for trial in trials if trial.tested}
    assert measured & trained


@pytest.mark.cluster
@pytest.mark.parametrize(
    "own",
    [
        {"scheduler": {"kind": "asha", "variant": "promotion", "reduction": 2}},
        {"scheduler": {"kind": "hyperband", "reduction": 2}},
    ],
)
def test_trials_that_pause_are_taken_up_again_and_those_that_are_not_promoted_end_with_the_study(
    own: dict[str, Any], engine: RayEngine, tmp_path: Path
) -> None:
    config = toy_study(trials=12)
    search = changed(config.search, **own)
    folder = open_toy(tmp_path, config.model_copy(update={"search": search}))
    for fault in (True, False):  # the first driver is interrupted in the middle
        engine.worker = InterruptingWorker if fault else ToyWorker
        with Ledger(folder.ledger) as ledger:
            driver = toy_driver(folder, ledger)
            if fault:
                with pytest.raises(UserError, match="enough"):
                    run_study(driver, engine)
                assert driver.record.paused()
            else:
                run_study(driver, engine)
    judge = scheduler_of(search, 4, frozenset({0}))
    promotions = 0
    for event in Ledger(folder.ledger).read():
        match event:
            case Reported():
                decision = judge.report(event.trial, event.epoch, event.score, event.seconds)
            case Decided():
                assert (event.decision, event.rung) == (decision.action, decision.rung)
            case Promoted():
                assert event.trial in (judge.promotable(), judge.promotable(12))
                judge.promoted(event.trial)
                promotions += 1
            case _:
                pass
    assert promotions > 3
    trials = driver.record.trials.values()
    assert {trial.reason for trial in trials} == {"completed", "stopped"}
    assert sum(isinstance(event, Ended) for event in Ledger(folder.ledger).read()) == 12
    for trial in trials:
        assert [report.epoch for report in trial.reports] == list(range(1, len(trial.reports) + 1))
        solo = ToyWorker(driver.task(trial.number))
        solo.epoch = 0
        assert [solo.run_epoch().metrics for _ in trial.reports] == [report.metrics for report in trial.reports]


@pytest.mark.cluster
def test_troubles_end_their_own_trial_at_most_and_all_others_have_the_curves_of_one_after_another(
    engine: RayEngine, tmp_path: Path
) -> None:
    study = searched(toy_study(trials=9, proposer="grid", epochs=3), scheduler="none", retries=1)
    ended = {}
    for name, (each, worker) in {
        "ray": (engine, TroubledWorker),
        "serial": (SerialEngine(ToyWorker), ToyWorker),
    }.items():
        engine.worker = worker
        folder = open_toy(tmp_path / name, study)
        with Ledger(folder.ledger) as ledger:
            driver = toy_driver(folder, ledger)
            run_study(driver, each)
        assert StudyRecord.of(ledger.read()).trials == driver.record.trials
        ended[name] = {
            (trial.config.model.stack.depth, trial.config.training.optimiser.learning_rate): trial
            for trial in driver.record.trials.values()
        }
    ray_trials, serial_trials = ended["ray"], ended["serial"]
    raised, died = ray_trials.pop(TroubledWorker.RAISES), ray_trials.pop(TroubledWorker.DIES)
    assert (raised.reason, raised.message) == ("failed", "RuntimeError: out of luck")
    assert (died.reason, died.message, died.starts) == ("crashed", "the worker's process died", 2)
    assert len(ray_trials) == 7
    for tried, trial in ray_trials.items():
        assert trial.reason == "completed"
        assert [retry.cause for retry in trial.retries] == ["crashed"] * (tried == TroubledWorker.IS_KILLED)
        assert [(report.epoch, report.metrics) for report in trial.reports] == [
            (report.epoch, report.metrics) for report in serial_trials[tried].reports
        ]


@pytest.mark.cluster
def test_a_trial_without_memory_is_tried_once_more_with_twice_its_share(engine: RayEngine, tmp_path: Path) -> None:
    record, _ = run(engine, HungryWorker, tmp_path, trials=7, proposer="grid")
    depths = {trial.config.model.stack.depth: trial for trial in record.trials.values()}
    assert (depths[3].reason, len(depths[3].retries)) == ("out_of_memory", 1)
    assert depths[3].message == "MemoryError: no room"
    assert depths[2].reason in ("completed", "stopped")
    assert [retry.cause for retry in depths[2].retries] == ["out_of_memory"]
    assert not depths[1].retries


@pytest.mark.cluster
def test_a_mistake_that_every_trial_would_meet_ends_the_study_at_once(engine: RayEngine, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the corpus has gone"):
        run(engine, MistakenWorker, tmp_path)
    ends = [event for event in Ledger(tmp_path / "ledger").read() if isinstance(event, Ended)]
    assert not ends, "the trials wait for the next driver"
    with pytest.raises(UserError, match=r"^the corpus has gone \(allowed: a corpus that is there\)$"):
        run(engine, MistakenTests, tmp_path / "tested", trials=2)


@pytest.mark.slow
def test_a_processor_that_has_nothing_left_to_do_is_told_of(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(engine, "on_idle", lambda: told.append(True))
    run(engine, ToyWorker, tmp_path, trials=1)
    assert told


def test_that_files_are_copied_is_said_once_when_the_first_machine_joins_that_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {"head": True, "seeing": True}
    said: list[str] = []
    monkeypatch.setattr(module, "LOOKED_AT", 0.0)
    monkeypatch.setattr(module, "machines", lambda: there)
    study: Any = object.__new__(RayEngine)
    study._joined, study._autoscaling, study._concurrent, study._where = True, None, None, None
    study._looked = study._told = -math.inf
    study._untold, study._unseeing, study.say = False, None, said.append
    study._allocator = SimpleNamespace(look=lambda: False, allotment=SimpleNamespace(words="1 CPU each"))
    study._new_machines = NewMachines(
        there, lambda machine: SimpleNamespace(is_over=lambda: True, answer=lambda: there[machine])
    )
    study._look()
    there["another"] = True
    study._look()
    assert said == []
    for blind in ("first", "second"):
        there[blind] = False
        study._look()
    assert said == ["1 CPU each; 1 of 4 machines do not see the study's folder: files are copied"]


def test_an_address_where_no_cluster_answers_is_refused_before_ray_waits_for_one() -> None:
    with pytest.raises(UserError, match=r"--address 127.0.0.1:1: no Ray cluster answers"):
        check_address("127.0.0.1:1")
    for wrong in ("nonsense", "127.0.0.1", "ray://head"):
        with pytest.raises(UserError, match=rf"^--address {wrong}: is no address \(allowed: HOST:PORT or [^\n]+\)$"):
            check_address(wrong)


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ("127.0.0.1:1", "no Ray cluster answers (ConnectionRefusedError: "),
        ("127.0.0.1:99999", "is no address ("),
        ("no-such-host.invalid:6379", "no Ray cluster answers (gaierror: "),
        ("http://127.0.0.1", "is no address ("),
        ("nonsense", "is no address ("),
    ],
)
def test_a_wrong_address_in_the_environment_is_told_by_the_name_of_its_variable(
    held: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", held)
    with pytest.raises(UserError) as refused:
        check_address("auto")
    told = str(refused.value)
    assert told.startswith(f"RAY_ADDRESS={held}: {why}")
    assert told.endswith("allowed: HOST:PORT or ray://HOST:10001 of a running one, or --address local)")
    assert "\n" not in told


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-server\r\n", b""])
def test_a_port_where_something_else_than_ray_listens_is_refused(words: bytes) -> None:
    def serve(listening: socket.socket) -> None:
        with listening.accept()[0] as caller:
            caller.sendall(words)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        with pytest.raises(UserError, match=rf"^--address 127.0.0.1:{port}: no Ray cluster answers \(Connection"):
            check_address(f"127.0.0.1:{port}")


@pytest.mark.cluster
def test_a_measurement_whose_process_dies_is_tried_again_and_then_given_up_on(
    engine: RayEngine, tmp_path: Path
) -> None:
    engine.worker = TroubledTests
    study = searched(toy_study(trials=3, proposer="grid"), scheduler="none", retries=1)
    folder = open_toy(tmp_path, study)
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        run_study(driver, engine)
    faults = {(event.trial, event.reason, event.then) for event in ledger.read() if isinstance(event, Untested)}
    assert faults == {
        (0, "crashed", "measure"),
        (1, "crashed", "measure"),
        (1, "crashed", "give_up"),
        (2, "out_of_memory", "measure"),
    }
    assert [bool(trial.tested) for trial in driver.record.trials.values()] == [True, False, True]
    assert driver.record.finished
