"""A study that is to end when it has had enough: it says why, and says the same after any crash."""

import shutil
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from skipstack.dashboards.commands.options import studied
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.live.progress import Progress
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.experiment import experiment
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.study_state import StudyState
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Event, Extended, Reported, Shortened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import STUDY
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.strategy.objectives.stopping_rule import StoppingRuleConfig
from skipstack.search.strategy.proposers.config import PathConfig
from skipstack.search.study.checks import check_study
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import is_finished, read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.changed import searched
from tests.search.toy import ToyWorker, open_toy, toy_study

TRIALS = 60
ENOUGH = {"minimum_trials": 8, "deviations": 6.0}


def enough(proposer: str = "tpe", **fields: Any) -> StudyConfig:
    return searched(toy_study(trials=TRIALS, proposer=proposer), enough={**ENOUGH, **fields})


def run(folder: StudyFolder, *first: Event) -> StudyRecord:
    """What is left of the study; a moment lasts 20 seconds, and between two drivers a day passes."""
    ticks = count(86_400 * (1 + len(Ledger(folder.ledger).read())), 20)
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: float(next(ticks)), first=first)
        if driver.record.events > 2:
            driver.resumed("toy")
        run_study(driver, SerialEngine(ToyWorker))
        return driver.record


def cut(folder: StudyFolder, to: Path, events: int) -> StudyFolder:
    """A copy whose ledger ends after so many events."""
    copy = StudyFolder(to)
    kept = Ledger(folder.ledger).read()[:events]
    with Ledger(copy.ledger) as ledger:
        ledger.append(*kept)
    return copy


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = open_toy(tmp_path_factory.mktemp("enough"), enough())
    run(folder)
    return folder


def the_end(folder: StudyFolder) -> tuple[int, Shortened]:
    """The event by which it has enough, and its place."""
    events = Ledger(folder.ledger).read()
    ((place, event),) = [(place, event) for place, event in enumerate(events) if isinstance(event, Shortened)]
    return place, event


def test_it_ends_says_why_and_nothing_more_is_started(ended: StudyFolder) -> None:
    record = read_study(ended.path)
    _, event = the_end(ended)
    assert 8 <= event.trials == len(record.trials) < TRIALS
    assert event.gain is not None
    assert event.gain.most < 6.0 * event.gain.seed_deviation
    assert record.enough == event
    assert is_finished(ended.path)
    assert all(trial.reason for trial in record.trials.values())
    before = Ledger(ended.ledger).read()
    assert not [each for each in Ledger(ended.ledger).read()[the_end(ended)[0] :] if each.kind == "proposed"]
    run(ended)
    assert [event.kind for event in Ledger(ended.ledger).read()[len(before) :]] == ["resumed", "finished"]


def test_an_ablation_trains_all_its_rows_all_the_same(tmp_path: Path) -> None:
    """Also of a study that was to ask, and did not come to it."""
    folder = open_toy(tmp_path, searched(enough(), trials=6))
    record = run(folder)
    assert record.study.search.enough is not None
    made = experiment(read_study(folder.path), AblationOptions(seeds=1), time=2.0)
    assert made.study.search.enough is None


def test_without_the_option_all_trials_run(tmp_path: Path) -> None:
    record = run(open_toy(tmp_path, toy_study(trials=20)))
    assert len(record.trials) == 20
    assert record.enough is None


def test_every_prefix_of_its_ledger_says_the_same_and_none_before_says_enough(ended: StudyFolder) -> None:
    """A driver that reads the past decides as the one that wrote it did: where it asked, and nowhere else."""
    events = Ledger(ended.ledger).read()
    place, event = the_end(ended)
    whole = StudyState(ended, events[0], written=ended.ledger)
    for number, each in enumerate(events[1:place], 1):
        if each.kind == "proposed":
            assert whole.enough() is None, number
        whole.apply(each)
    assert whole.enough() == event.gain
    whole.apply(event)
    assert whole.enough() is None
    assert whole.ask(event.trials) is None


def test_a_driver_that_was_killed_finds_the_same(ended: StudyFolder, tmp_path: Path) -> None:
    """Killed right before the decision, or right after it, and taken up a day later."""
    place, event = the_end(ended)
    for kept in (place, place + 1):
        copy = cut(ended, tmp_path / str(kept), kept)
        record = run(copy)
        assert (the_end(copy)[1].trials, the_end(copy)[1].gain) == (event.trials, event.gain)
        assert len(record.trials) == event.trials
        assert record.enough == the_end(copy)[1]
        assert is_finished(copy.path)


def test_whoever_extends_it_gets_all_that_was_asked_for(ended: StudyFolder, tmp_path: Path) -> None:
    shutil.copytree(ended.path, tmp_path / "more")
    folder = StudyFolder(tmp_path / "more")
    _, event = the_end(folder)
    record = run(folder, Extended(time=0.0, trials=7))
    assert len(record.trials) == event.trials + 7
    assert record.enough is None
    assert len([each for each in Ledger(folder.ledger).read() if isinstance(each, Shortened)]) == 1
    assert read_study(folder.path).study.search.enough is None


def test_a_study_that_is_extended_before_still_asks(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", searched(enough(), trials=8))
    assert len(run(folder).trials) == 8
    record = run(folder, Extended(time=0.0, trials=TRIALS))
    assert 8 <= len(record.trials) < 8 + TRIALS
    assert record.enough is not None


def test_the_report_and_mlflow_say_it(ended: StudyFolder) -> None:
    frames = study_frames(ended.path)
    _, event = the_end(ended)
    seen = frames.exploration()
    report = exploration_report(seen)
    text = " ".join(render(report, "text", width=500).split())
    assert event.gain is not None
    assert f"No further trial was started: {event.gain.trials} more trial" in text
    assert "in about 60 min" in text
    assert report.content["enough"] == event.gain.model_dump()
    runs = ExpectedRuns()
    for each in Ledger(ended.ledger).read():
        runs.apply(each)
    tag = runs.pending[STUDY].tags["skipstack.shortened"]
    assert tag.startswith(f"to {event.trials} trials: {event.gain.trials} more, in 1 h, would raise the score by ")


def test_progress_says_it_and_counts_no_trial_that_will_not_come(ended: StudyFolder) -> None:
    events, page = Ledger(ended.ledger).read(), StringIO()
    _, end = the_end(ended)
    console = Console(file=page, width=80)
    with Progress(StudyRecord.of(events[:2]), clock=lambda: events[-1].time, console=console) as progress:
        for event in events[2:]:
            progress(event)
    lines = page.getvalue().splitlines()
    assert sum(line.startswith("No further trial was started: ") for line in lines) == 1
    assert any(line.startswith(f"{end.trials}/{end.trials} trials") for line in lines)


def test_the_command_line_asks_for_it() -> None:
    asked, _ = studied("quickstart", {"enough": True, "settings": ["search.enough.hours=2"]})
    assert asked.search.enough == StoppingRuleConfig(hours=2)
    assert studied("quickstart", {})[0].search.enough is None


@pytest.mark.first(2)
@pytest.mark.parametrize("variant", ["stopping", "promotion"])
@pytest.mark.parametrize("proposer", ["random", "evolution"])
def test_schedulers_that_pause_and_other_proposers_end_too(proposer: str, variant: str, tmp_path: Path) -> None:
    asha = {"kind": "asha", "grace": 1, "reduction": 2, "variant": variant}
    folder = open_toy(tmp_path, searched(enough(proposer, deviations=8.0), scheduler=asha))
    record = run(folder)
    assert record.enough is not None
    assert len(record.trials) < TRIALS
    best = record.ranked()[0]
    assert best.reason in ("completed", "stopped")


def test_seconds_of_an_epoch_say_nothing_the_times_of_events_do(ended: StudyFolder) -> None:
    """The pace is that of the whole study, whose workers are as many as they are."""
    events = Ledger(ended.ledger).read()
    place, event = the_end(ended)
    state = StudyState(ended, events[0], written=ended.ledger)
    for each in events[1:place]:
        state.apply(each.model_copy(update={"seconds": 7.0}) if isinstance(each, Reported) else each)
    assert state.enough() == event.gain


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seeds": 1}, r"search.enough: got 1 seed \(allowed: search.seeds: 2 or more"),
        ({"objectives": ("score", "parameters")}, r"search.enough: got the objectives score, parameters \(allowed: sc"),
        ({"scheduler": {"kind": "asha", "resource": "seeds"}}, r"search.enough: got seeds that race \(allowed: "),
        ({"proposer": {"kind": "random"}, "seeds": 1}, "got 1 seed"),
    ],
)
def test_what_it_cannot_be_asked_of_is_told_in_one_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        check_study(searched(enough(), **fields))
    assert "\n" not in str(refused.value)


PATH = PathConfig(starts=({"model.stack.depth": 1},), changes={"model.stack.depth": 2})


@pytest.mark.parametrize(("proposer", "kind"), [("grid", "grid"), (PATH.model_dump(), "path")])
def test_a_plan_takes_as_long_as_it_takes(proposer: Any, kind: str) -> None:
    """The points of a path depend on scores, so they are not known in advance."""
    with pytest.raises(UserError, match=rf"^search.enough: got proposer {kind}, which follows a fixed plan \("):
        check_study(searched(enough(), proposer=proposer))


@pytest.mark.parametrize(("said", "meant"), [(True, {}), (False, None), ({"hours": 2}, {"hours": 2.0})])
def test_true_is_short_for_the_defaults(said: Any, meant: Any) -> None:
    found = searched(toy_study(), enough=said).search.enough
    assert found == (None if meant is None else searched(toy_study(), enough=meant).search.enough)
