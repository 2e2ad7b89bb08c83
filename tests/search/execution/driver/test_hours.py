"""A study with hours ends when they are over, says why, and goes on if it gets more; on a clock that workers move."""

import shutil
import threading
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.live.progress import Progress
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.dashboards.reports.wording import hours_over_in_words
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.experiment import experiment
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.api.simulation.recordings import LANES
from skipstack.search.api.simulation.simulated import SimulatedEngine
from skipstack.search.execution.driver import driver as module
from skipstack.search.execution.driver import study_state
from skipstack.search.execution.driver.driver import AT_A_REPORT, Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import Fault
from skipstack.search.execution.driver.study_state import StudyState
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.events import (
    Event,
    Extended,
    HoursOver,
    Noted,
    Proposed,
    Renamed,
    Reported,
    Shortened,
    Started,
)
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import STUDY
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.strategy.proposers.proposer import Proposer
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.extension import more_hours
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import is_finished, read_study
from skipstack.search.study.record.requests import Request, Requests
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.strategy import study_proposer
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Worker, Workers
from skipstack.spaces.space import Space
from tests.search.changed import searched
from tests.search.functions import open_function
from tests.search.killing import Killed
from tests.search.toy import ToyWorker, open_toy, toy_study

MINUTE, HOURS = 60.0, 0.1
"""An epoch takes a minute, and the study has six."""

TWO_MINUTES = 2 / 60

TRIALS = 12


class Clock:
    """A clock that stands still unless somebody moves it."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Timed:
    """Workers whose epochs take a minute of a clock; ``killed_after``: so many epochs, the driver is killed."""

    def __init__(self, clock: Clock, killed_after: int | None = None) -> None:
        self.clock = clock
        self.killed_after = killed_after
        self.epochs = 0

    def __call__(self, task: TrialTask) -> Worker:
        workers = self

        class OnTheClock(ToyWorker):
            def run_epoch(self) -> EpochResult:
                if workers.epochs == workers.killed_after:
                    raise Killed
                workers.epochs += 1
                workers.clock.now += MINUTE
                told = super().run_epoch()
                return EpochResult(epoch=told.epoch, score=told.score, metrics=told.metrics, seconds=MINUTE)

        return OnTheClock(task)

    def test(self, task: TrialTask) -> Measured:
        self.clock.now += MINUTE
        return ToyWorker.test(task)


def hourly(trials: int = TRIALS, **fields: Any) -> StudyConfig:
    return searched(toy_study(trials=trials), **{"hours": HOURS, "scheduler": "none", **fields})


def run(folder: StudyFolder, clock: Clock, *first: Event, killed_after: int | None = None) -> StudyRecord:
    """What is left of the study, one trial after another; between two drivers a day passes."""
    clock.now += 86_400
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock, first=first)
        if driver.record.events > 2:
            driver.resumed("toy")
        run_study(driver, SerialEngine(Timed(clock, killed_after)))
        return driver.record


def more(folder: StudyFolder, hours: float) -> Extended:
    """The event with which ``resume --hours`` begins."""
    record = read_study(folder.path)
    ended = len(record.trials) if record.finished else None
    return more_hours(hours, record.over, ended=ended, worked=record.working.seconds(), time=0.0)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A study of four epochs a trial whose second trial ran when its six minutes were over."""
    folder = open_toy(tmp_path_factory.mktemp("hours"), hourly())
    run(folder, Clock())
    return folder


def the_end(folder: StudyFolder) -> tuple[int, Shortened]:
    """The event that says that the hours are over, and its place."""
    events = Ledger(folder.ledger).read()
    ((place, event),) = [(place, event) for place, event in enumerate(events) if isinstance(event, Shortened)]
    return place, event


def test_what_runs_is_stopped_at_its_report_nothing_more_is_started_and_the_best_are_tested(
    ended: StudyFolder,
) -> None:
    record, (place, event) = read_study(ended.path), the_end(ended)
    assert event.over == record.over == HoursOver(hours=HOURS, left_out=TRIALS - 2)
    assert [(trial.reason, len(trial.reports), trial.message) for trial in record.trials.values()] == [
        ("completed", 4, ""),
        ("stopped", 2, "stopped at the next report"),
    ]
    assert is_finished(ended.path)
    assert record.trials[0].tested
    assert not any(isinstance(each, Proposed | Started | Reported) for each in Ledger(ended.ledger).read()[place:])
    assert record.study.search.trials == 2
    assert record.study.search.hours is None


def test_the_report_and_mlflow_say_it(ended: StudyFolder) -> None:
    said = (
        "The study's 0.1 hours were over, and 10 trials of those asked for had not started. "
        "Trial 1: stopped at the next report."
    )
    seen = study_frames(ended.path).exploration()
    report = exploration_report(seen)
    assert said in " ".join(render(report, "text", width=500).split())
    assert report.content["over"] == {"hours": HOURS, "left_out": 10, "cut": {"stopped at the next report": [1]}}
    runs = ExpectedRuns()
    for each in Ledger(ended.ledger).read():
        runs.apply(each)
    assert runs.pending[STUDY].tags["skipstack.shortened"] == "to 2 trials: its 0.1 hours were over"


def test_progress_says_it_and_counts_no_trial_that_will_not_come(ended: StudyFolder) -> None:
    events, page = Ledger(ended.ledger).read(), StringIO()
    console = Console(file=page, width=80)
    with Progress(StudyRecord.of(events[:2]), clock=lambda: events[-1].time, console=console) as progress:
        for event in events[2:]:
            progress(event)
    lines = page.getvalue().splitlines()
    assert sum(line.startswith("The study's 0.1 hours were over") for line in lines) == 1
    assert any(line.startswith("2/2 trials") for line in lines)


@pytest.mark.parametrize("written", [None, Noted(time=0.0, text="noisy"), Renamed(time=0.0, title="Another")])
def test_only_the_time_of_its_runs_counts_whoever_was_killed(written: Noted | Renamed | None, tmp_path: Path) -> None:
    """Also where a user writes something about the study, or extends it, after it was killed."""
    folder, clock = open_toy(tmp_path, hourly()), Clock()
    for epochs in (3, 1):
        with pytest.raises(Killed):
            run(folder, clock, killed_after=epochs)
        if written is not None:
            clock.now += 3600
            with Ledger(folder.ledger) as ledger:
                ledger.append(written.model_copy(update={"time": clock.now}))
    record = run(folder, clock, Extended(time=clock.now, trials=1))
    assert sum(len(trial.reports) for trial in record.trials.values()) == 6
    assert record.over is not None
    assert read_study(folder.path).working.seconds() == record.working.seconds()


POINT = {"model.stack.depth": 1, "training.optimiser.learning_rate": 0.01}


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (Request(written=Noted(time=0.0, text="noisy")), Noted),
        (Request(written=Renamed(time=0.0, title="Another")), Renamed),
        (Request(points=(POINT,)), Extended),
        (Request(enough=True), Shortened),
    ],
    ids=["note", "title", "points", "enough"],
)
def test_what_a_user_asks_of_a_running_study_leaves_no_time_out(
    asked: Request, kind: type[Any], tmp_path: Path
) -> None:
    folder, clock = open_toy(tmp_path, hourly()), Clock()
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        task = driver.next()
        assert task is not None
        worker = ToyWorker(task)
        for _ in range(3):
            Requests(folder.asked).ask(asked)
            clock.now += MINUTE
            assert driver.report(task.number, worker.run_epoch()).action == "continue"
    assert any(isinstance(event, kind) for event in Ledger(folder.ledger).read())
    assert driver.record.working.seconds() == read_study(folder.path).working.seconds() == 3 * MINUTE


def test_a_killed_driver_is_followed_by_one_that_ends_the_study_in_the_same_way(
    ended: StudyFolder, tmp_path: Path
) -> None:
    """Killed right after it said that its hours were over, or after what that ended."""
    place, _ = the_end(ended)
    events = Ledger(ended.ledger).read()
    for kept in range(place + 1, len(events)):
        copy = StudyFolder(tmp_path / str(kept))
        with Ledger(copy.ledger) as ledger:
            ledger.append(*events[:kept])
        record = run(copy, Clock())
        assert len(record.trials) == 2
        assert [trial.reason for trial in record.trials.values()] == ["completed", "stopped"]
        assert is_finished(copy.path)
        assert record.trials[0].tested


def test_more_hours_start_the_trials_that_were_left_out(ended: StudyFolder, tmp_path: Path) -> None:
    shutil.copytree(ended.path, tmp_path / "more")
    folder, clock = StudyFolder(tmp_path / "more"), Clock()
    record = run(folder, clock, more(folder, hours=0.5))
    assert record.over == HoursOver(hours=0.5, left_out=4)
    assert [len(trial.reports) for trial in record.trials.values()] == [4, 2, 4, 4, 4, 4, 4, 2]
    assert {trial.reason for trial in record.trials.values()} == {"completed", "stopped"}
    again = run(folder, clock, Extended(time=0.0, trials=3))
    assert len(again.trials) == len(record.trials) + 3, "an extension trains all that it asks for"
    assert again.over is None


def test_trials_that_more_hours_give_back_do_not_count_twice_for_the_proposer(
    ended: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def counted(study: StudyConfig, space: Space, trials: int) -> Proposer:
        told.append(trials)
        return study_proposer(study, space, trials)

    monkeypatch.setattr(study_state, "study_proposer", counted)
    for first in ((), (more(ended, hours=0.5),), (more(ended, hours=0.5), Extended(time=0.0, trials=3))):
        opened, *_ = Ledger(ended.ledger).read()
        StudyState(ended, opened, first, written=ended.ledger)
    assert told == [TRIALS, TRIALS, TRIALS + 3]


def test_hours_that_suffice_end_nothing(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, hourly(trials=3, hours=0.2))
    record = run(folder, Clock())
    assert record.over is None
    assert {trial.reason for trial in record.trials.values()} == {"completed"}
    assert not [each for each in Ledger(folder.ledger).read() if isinstance(each, Shortened)]
    with pytest.raises(UserError, match=r"^--hours: all 3 trials of the study have ended \(allowed: `skipstack extend"):
        more(folder, hours=9.0)


@pytest.mark.parametrize(
    ("hours", "says"),
    [
        (0.0, r"--hours: got 0 \(allowed: a number above 0\)"),
        (float("nan"), r"--hours: got nan \(allowed: a number above 0\)"),
        (float("inf"), r"--hours: got inf \(allowed: a number above 0\)"),
        (0.05, r"--hours: got 0.05, and the study was run for 0.133 already \(allowed: more than that\)"),
    ],
)
def test_hours_that_leave_no_time_are_refused(hours: float, says: str, ended: StudyFolder) -> None:
    with pytest.raises(UserError, match=f"^{says}$"):
        more(ended, hours)


SCHEDULERS = {
    "asha": {"kind": "asha", "grace": 1, "reduction": 2},
    "promotion": {"kind": "asha", "grace": 1, "reduction": 2, "variant": "promotion"},
    "seeds": {"kind": "asha", "grace": 1, "reduction": 2, "resource": "seeds"},
    "hyperband": {"kind": "hyperband", "reduction": 2},
    "median": {"kind": "median", "minimum_trials": 2},
    "keep_best": {"kind": "keep_best", "keep": 2},
    "none": {"kind": "none"},
}


def curve(config: Any, folder: Path, seeds: int) -> list[EpochResult]:
    """What a trial of this config reports, a minute an epoch."""
    task = TrialTask(
        number=0, config=config, seeds=tuple(range(seeds)), order_seed=0, lanes=1, folder=folder, device="cpu"
    )
    worker = ToyWorker(task)
    told = [worker.run_epoch() for _ in range(config.epochs)]
    return [
        EpochResult(
            epoch=each.epoch,
            score=each.score,
            metrics={LANES: each.metrics["dev_accuracy"], "dev_accuracy": each.metrics["dev_accuracy"]},
            seconds=MINUTE,
        )
        for each in told
    ]


def side_by_side(folder: StudyFolder, config: StudyConfig, *first: Event, since: float) -> Driver:
    """Run what is left of a study on three simulated workers."""
    space = Space(config.space)
    curves = {
        space.config(point).identity: curve(space.config(point), folder.path, config.search.seeds)
        for point in space.enumerate()
    }
    engine = SimulatedEngine(curves, workers=3)
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: since + engine.now, first=first)
        engine.run(driver)
        driver.end_paused()
        driver.finished()
    return driver


@pytest.mark.first(2)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("proposer", ["grid", "random"])
def test_every_scheduler_ends_in_order_side_by_side_and_goes_on_with_more(
    proposer: str, scheduler: str, tmp_path: Path
) -> None:
    study = toy_study(trials=9, proposer="grid")
    config = searched(study, proposer=proposer, scheduler=SCHEDULERS[scheduler], hours=TWO_MINUTES, seeds=4)
    folder = open_toy(tmp_path, config)
    driver = side_by_side(folder, config, since=1e6)
    events = Ledger(folder.ledger).read()
    assert driver.record.over is not None
    assert all(trial.reason in ("completed", "stopped") for trial in driver.record.trials.values())
    assert max(event.time for event in events if isinstance(event, Reported)) <= 1e6 + 3 * MINUTE
    state = StudyState(folder, events[0], written=folder.ledger)
    for event in events[1:]:
        state.apply(event)  # which checks each decision
    assert not state.active
    again = side_by_side(folder, config, more(folder, hours=9.0), since=2e6)
    assert again.record.over is None
    assert len(again.record.trials) == 9


@pytest.mark.first(2)
@pytest.mark.parametrize("proposer", ["tpe", "random", "gp", "evolution", "prior"])
def test_proposers_learn_nothing_of_a_trial_that_reported_nothing(proposer: str, tmp_path: Path) -> None:
    """Which a later driver, and one with more hours, replays."""
    folder, clock = open_toy(tmp_path / "study", hourly(proposer=proposer)), Clock()
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        for _ in range(2):
            assert driver.next() is not None
        clock.now += 3600
        assert driver.next() is None
        assert driver.record.over == HoursOver(hours=HOURS, left_out=TRIALS - 2)
        assert driver.silent() == []
        clock.now += 59
        assert driver.silent() == []
        clock.now += 1
        assert driver.silent() == [0, 1]
        driver.given_up(1)
        driver.not_continued(0)
        assert driver.over
        driver.finished()
    record = read_study(folder.path)
    assert [trial.message for trial in record.trials.values()] == ["not continued", "no report within 60 s"]
    assert [trial.score for trial in record.trials.values()] == [None, None]
    assert "Trial 0: not continued; trial 1: no report within 60 s." in " ".join(
        render(exploration_report(study_frames(folder.path).exploration()), "text", width=500).split()
    )
    assert len(run(folder, clock, more(folder, hours=2.0)).trials) == TRIALS


@pytest.mark.parametrize("turns", [1, 3])
def test_a_report_is_waited_for_as_long_as_two_of_the_longest_epochs_of_all_that_take_turns(
    turns: int, tmp_path: Path
) -> None:
    folder, clock = open_toy(tmp_path, hourly()), Clock()
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        driver.turns = turns
        task, other = driver.next(), driver.next()
        assert task is not None
        assert other is not None
        told = ToyWorker(task).run_epoch()
        result = EpochResult(epoch=1, score=told.score, metrics=told.metrics, seconds=200.0)
        assert driver.report(task.number, result).action == "continue"
        assert driver.seconds_left(task.number) == pytest.approx(HOURS * 3600 + turns * 400)
        clock.now += 3600
        again = EpochResult(epoch=2, score=told.score, metrics=told.metrics, seconds=100.0)
        assert driver.report(task.number, again).action == "stop"
        assert driver.seconds_left(other.number) == pytest.approx(turns * 400)
        clock.now += turns * 400 - 1
        assert driver.silent() == []
        clock.now += 1
        assert driver.silent() == [other.number]
        driver.given_up(other.number)
        assert driver.record.trials[other.number].message == f"no report within {turns * 400} s"


def test_a_trial_that_would_be_tried_again_is_not_and_one_that_failed_has_failed(tmp_path: Path) -> None:
    folder, clock = open_toy(tmp_path, hourly()), Clock()
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        for _ in range(3):
            assert driver.next() is not None
        driver.faulted(2, Fault("crashed", "the worker's process died"))  # which waits for a worker
        clock.now += 3600
        driver.faulted(0, Fault("crashed", "the worker's process died"))
        driver.faulted(1, Fault("failed", "RuntimeError: no"))
        assert driver.over
    ends = [(trial.reason, trial.message) for trial in driver.record.trials.values()]
    assert ends == [
        ("stopped", "the worker's process died; it was not tried again"),
        ("failed", "RuntimeError: no"),
        ("stopped", "not continued"),
    ]


def test_a_trial_that_a_user_stopped_is_not_told_among_those_of_the_hours(tmp_path: Path) -> None:
    folder, clock = open_toy(tmp_path, hourly()), Clock()
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=clock)
        tasks = [driver.next() for _ in range(3)]
        Requests(folder.asked).ask(Request(stop=(1,), asked_by="at night"))
        for task, minutes in zip(tasks, (1, 1, 60), strict=True):
            assert task is not None
            clock.now += minutes * MINUTE
            driver.report(task.number, ToyWorker(task).run_epoch())
        driver.faulted(0, Fault("crashed", "the worker's process died"))
        driver.finished()
    messages = [trial.message for trial in read_study(folder.path).trials.values()]
    assert messages == ["the worker's process died; it was not tried again", "stopped by at night", AT_A_REPORT]
    assert study_frames(folder.path).exploration().cut == {messages[0]: [0], messages[2]: [2]}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is waited for a fifth of a second."""
    monkeypatch.setattr(module, "SHORTEST_WAIT", 0.2)


def never() -> None:
    threading.Event().wait(600)


class SilentWorker(ToyWorker):
    """Reports once."""

    def run_epoch(self) -> EpochResult:
        if self.epoch == 1:
            never()
        return super().run_epoch()


def silent(config: Any, report: Report) -> None:
    """Reports once, as a function."""
    report(score=config["x"])
    never()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", ["network", "function"])
def test_a_trial_that_never_reports_again_does_not_hold_a_study_in_this_process(kind: str, tmp_path: Path) -> None:
    """It keeps the score that it reported."""
    workers: Workers = SilentWorker
    if kind == "network":
        folder = open_toy(tmp_path, hourly(hours=1e-4))
    else:
        workers = FunctionWorkers(silent)
        folder = open_function(tmp_path, silent, overrides={"search.hours": 1e-4, "search.seeds": 1}, epochs=5)
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=time.time)
        run_study(driver, SerialEngine(workers))
    record = driver.record
    assert record.finished
    assert [(trial.reason, len(trial.reports), trial.message) for trial in record.trials.values()] == [
        ("stopped", 1, "no report within 0.2 s")
    ]
    assert record.ranked()


def test_an_ablation_trains_all_its_rows(tmp_path: Path) -> None:
    folder = open_toy(tmp_path, hourly(trials=6, hours=9.0))
    assert run(folder, Clock()).study.search.hours == 9.0
    assert experiment(read_study(folder.path), AblationOptions(seeds=1), time=2.0).study.search.hours is None


def test_a_sentence_names_a_few_trials_counts_many_and_leaves_messages_as_they_are() -> None:
    over = HoursOver(hours=1.0, left_out=0)
    assert hours_over_in_words(over, {}) == "The study's 1 hour was over."
    cut = {"MemoryError: no room; it was not tried again": [4], "not continued": list(range(20))}
    assert hours_over_in_words(over, cut) == (
        "The study's 1 hour was over. Trial 4: MemoryError: no room; it was not tried again; 20 trials: not continued."
    )
