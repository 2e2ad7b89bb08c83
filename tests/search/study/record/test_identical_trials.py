"""Trials of a function that report the same whatever their config are told; those that differ anywhere are not."""

import json
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console

import skipstack
from skipstack.dashboards.commands.published import published
from skipstack.dashboards.formats.rendering import Format, render
from skipstack.dashboards.live.progress import Progress
from skipstack.dashboards.reports.study_report import study_report
from skipstack.dashboards.web.page_names import BELIEVE, GOING
from skipstack.search.ledger.events import Ended, Event, Proposed, Reason, Reported, Started, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import STUDY
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.identical_trials import FEWEST_COARSE, identical_trials
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.function import FunctionSource
from skipstack.spaces.space import Space
from tests.command_line import typed
from tests.dashboards.web.shown import Opened
from tests.search import made_up

SOURCE = FunctionSource(name="objective", file="mine.py", source="0" * 16, epochs=4)
CONFIG = load_study({"axes": {"x": {"randint": [0, 99]}, "kind": {"choice": ["a", "b"]}}}, function=SOURCE)[0]
FINE = (0.1234, 0.2345, 0.3456)
COARSE = (0.5, 0.7)

Trial = tuple[tuple[float, ...], Reason | None]
"""The scores of a trial, and how it ended; None while it runs."""


def events_of(*trials: Trial, points: list[dict[str, Any]] | None = None) -> list[Event]:
    """A study of a function whose trials, one after another, had these scores."""
    events: list[Event] = [StudyOpened(time=0.0, study=CONFIG.model_dump(mode="json"), code_version="test")]
    for number, (scores, reason) in enumerate(trials):
        point = {"x": number, "kind": "ab"[number % 2]} if points is None else points[number]
        identity = Space(CONFIG.space).config(point).identity
        events += [
            Proposed(time=0.0, trial=number, point=point, config_identity=identity, seeds=(0,)),
            Started(time=0.0, trial=number),
        ]
        events += [
            Reported(time=0.0, trial=number, epoch=at, score=score, metrics={"dev_score": (score,)}, seconds=1.0)
            for at, score in enumerate(scores, start=1)
        ]
        events += [] if reason is None else [Ended(time=0.0, trial=number, reason=reason)]
    return events


def told(*trials: Trial, points: list[dict[str, Any]] | None = None) -> str:
    return identical_trials(StudyRecord.of(events_of(*trials, points=points)).trials.values())


def test_three_trials_that_report_the_same_are_named_with_the_axes_that_make_no_difference() -> None:
    same: list[Trial] = [(FINE, "completed")] * 3
    assert told(*same) == (
        "trials 0, 1 and 2 reported exactly the same, though they differ in x and kind: the function may ignore its "
        "config"
    )
    assert told(*same[:2]) == ""
    assert told(*same * 2).startswith("all 6 trials with a score, such as 0, 1 and 2 reported exactly the same, though")
    one_axis = [{"x": number, "kind": "a"} for number in range(3)]
    assert "differ in x: the function" in told(*same, points=one_axis)
    assert told(*same, points=[one_axis[0]] * 3) == "", "they are one config"


def test_a_trial_that_was_stopped_has_the_same_beginning() -> None:
    whole: list[Trial] = [(FINE, "completed"), (FINE, "completed")]
    assert told(*whole, (FINE[:1], "stopped"))
    assert told((FINE[:2], "stopped"), *whole)
    assert told(*whole, ((FINE[1],), "stopped")) == ""


@pytest.mark.parametrize("place", range(3))
def test_a_curve_that_differs_in_one_place_is_another(place: int) -> None:
    other = tuple(score + 1e-12 * (at == place) for at, score in enumerate(FINE))
    same: Trial = (FINE, "completed")
    assert told(same, same, same, (other, "completed")) == ""
    assert told(same, (other, "completed"), same, same) == ""


def test_trials_without_a_score_and_running_ones_do_not_count() -> None:
    same: Trial = (FINE, "completed")
    assert told(same, ((0.9,), None), same, ((0.8,), "failed"), same).startswith("trials 0, 2 and 4 reported")
    assert told(same, same, (FINE, None)) == ""
    assert told(same, same, (FINE, "diverged")) == ""


def test_scores_that_chance_may_make_equal_take_more_trials() -> None:
    coarse: Trial = (COARSE, "completed")
    assert told(*[coarse] * (FEWEST_COARSE - 1)) == ""
    assert told(*[coarse] * FEWEST_COARSE)
    assert told(*[((0.5, 0.7, 0.8), "completed")] * 3), "three scores in a row are hardly equal by chance"
    assert told(*[((1 / 3,), "completed")] * 3)


def test_networks_read_their_configs() -> None:
    config = made_up.study(trials=4, scheduler="none")
    points = [{made_up.DEPTH: 1, made_up.RATE: rate} for rate in (0.004, 0.005, 0.006, 0.007)]
    events: list[Event] = []
    for number, point in enumerate(points):
        events += [made_up.proposed(config, number, point), made_up.reported(number, 1, 0.123, 0.234)]
        events += [made_up.ended(number)]
    assert made_up.record_of(config, *events).warnings == ()


def test_a_running_study_says_it_once_after_the_third_trial() -> None:
    events, page = events_of(*[(FINE, "completed")] * 5), StringIO()
    with Progress(StudyRecord.of(events[:1]), clock=lambda: 0.0, console=Console(file=page, width=80)) as progress:
        seen = []
        for event in events[1:]:
            progress(event)
            if isinstance(event, Ended):
                seen.append(page.getvalue().count("reported exactly the same"))
    assert seen == [0, 0, 1, 1, 1]
    again = StringIO()
    with Progress(StudyRecord.of(events[:-6]), clock=lambda: 0.0, console=Console(file=again, width=80)) as progress:
        for event in events[-6:]:
            progress(event)
    assert "reported exactly the same" not in again.getvalue(), "it was said before the study was resumed"


def ignoring(config: dict[str, Any], report: skipstack.Report) -> None:
    """Reads nothing of its config, as functions do that call another one and forget to pass it on."""
    for epoch in range(1, 4):
        report(score=1 - 1 / (3 + epoch) + config["seed"] / 7)


@pytest.mark.slow
def test_reports_pages_and_mlflow_say_it(tmp_path: Path) -> None:
    space = skipstack.Space(x=skipstack.uniform(0, 1), depth=skipstack.randint(1, 9))
    study = skipstack.search(space, ignoring, trials=4, epochs=3, engine="serial", out=tmp_path / "runs" / "study")
    line = "all 4 trials with a score, such as 0, 1 and 2 reported exactly the same, though they differ in x and depth"
    record, folder = read_study(tmp_path / "runs" / "study"), StudyFolder(tmp_path / "runs" / "study")
    assert record.warnings == (f"{line}: the function may ignore its config",)
    for form in get_args(Format):
        said = " ".join(render(study_report(study.frames), form).split())
        assert said.count("reported exactly the same") == (form != "csv"), form
    assert f"warning: {line}" in " ".join(typed("report", folder.path).out.split())
    assert json.loads(typed("report", folder.path, "--format", "json").out)["warnings"] == list(record.warnings)
    for page in (GOING, BELIEVE):
        assert f"warning: {line}" in Opened(tmp_path / "runs", page, study="study").text
    assert "reported exactly the same" in study._repr_html_()
    made = published(record, folder)
    assert f"warning: {line}" in made.notes[STUDY]
    assert line in made.files[STUDY]["report.html"].decode()
    assert sum(isinstance(event, Ended) for event in Ledger(folder.ledger).read()) == 4
