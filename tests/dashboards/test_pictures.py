"""The pictures of reports: those that show something are there, and of the others it is said why not."""

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from skipstack.dashboards.formats.page import Picture
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.dashboards.reports.confirmation.studies_report import studies_report
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.dashboards.reports.pictures.confirmed_pictures import compared_chart, confirmed_charts, studies_charts
from skipstack.dashboards.reports.pictures.picture import pictured
from skipstack.dashboards.reports.pictures.search_pictures import search_chart, search_charts
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.confirmation.designs import Confirmation, by_design
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.studies import compare_studies
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.api.study import exploration_of
from skipstack.search.study.record.study_record import StudyRecord
from tests.dashboards.charts.drawn import SVG
from tests.search.analysis.confirmation.test_confirmation import CONFIG, trials
from tests.search.analysis.confirmation.test_trends import GRID, events, grid
from tests.search.made_up import DEPTH, RATE, ended, history, proposed, record_of, reported, study
from tests.test_house import ROOT

HEADINGS = [
    *("Effects of values", "Importance of axes", "Pairs of axes", "Learning curves", "Score and training time"),
    *("Trials at each rung", "Score and parameters", "Expected best"),
]


def of_search(seen: Exploration) -> dict[str, Picture]:
    found = pictured(search_charts(seen))
    assert [picture.heading for picture in found] == HEADINGS
    return {picture.heading: picture for picture in found}


def test_a_search_has_all_pictures_but_those_of_what_it_did_not_count() -> None:
    found = of_search(seen := exploration_of(StudyRecord.of(history(study(trials=30), seed=1))))
    missing = {picture.heading: picture.about for picture in found.values() if not picture.svg}
    assert missing == {
        "Effects of values": "more trials were stopped than trained to their ends",
        "Pairs of axes": "no pair of values stands out from what pairs have by chance",
        "Score and parameters": "parameters are no objective of this study",
    }
    assert SVG.strip("{}") in found["Importance of axes"].svg
    page = render(replace(exploration_report(seen), pictures=lambda: tuple(found.values())), "html")
    assert page.count("<svg ") == 5
    drawn = [heading for heading in HEADINGS if heading not in missing]
    assert [heading for heading in re.findall(r"<h2>(.*?)</h2>", page) if heading in HEADINGS] == drawn
    assert all(f"{name} ({why})" in page for name, why in missing.items())
    assert len(page) < 500_000


def test_a_single_trial_has_few_pictures_and_says_so() -> None:
    config = study({DEPTH: {"choice": [3, 5]}})
    one = of_search(
        exploration_of(record_of(config, proposed(config, 0, {DEPTH: 3}), reported(0, 1, 0.9, 0.8), ended(0)))
    )
    assert {picture.svg for picture in one.values()} == {""}
    assert one["Effects of values"].about == "1 trial has a score, and it takes two"
    assert one["Learning curves"].about == "no trial has trained for more than one epoch"
    assert one["Trials at each rung"].about == "nothing was stopped at a rung"
    none = of_search(exploration_of(record_of(config)))
    assert none["Expected best"].about == "no trial has a score, and it takes two"


def test_scores_are_drawn_over_no_time_if_no_trial_took_any() -> None:
    begun = [proposed(study(), each, {DEPTH: 1, RATE: 0.01}) for each in (0, 1)]
    scored = [reported(each, 1, 0.9, 0.8, seconds=0.0) for each in (0, 1)]
    seen = exploration_of(record_of(study(), *begun, *scored, ended(0), ended(1)))
    assert search_chart("Score and training time", seen).draw == "no trial has taken any time"


def _row(row: str, **numbers: Any) -> dict[str, Any]:
    known = dict.fromkeys(("paper_gain", "gain", "gain_low", "gain_high"))
    named = {"row": row, "over": "base", "section": "", "corpus": ""}
    return {**named, "is_reference": False, "marked": False, **known, **numbers}


ROWS = [
    _row("base", is_reference=True, gain=0.0, paper_gain=0.0),
    _row("deeper", gain=0.02, gain_low=0.01, gain_high=0.03, paper_gain=0.01),
    _row("wider", gain=-0.01),
    _row("untried", paper_gain=0.02),
]


def test_what_was_confirmed_is_drawn_as_that_with_or_without_intervals() -> None:
    (picture,) = pictured(confirmed_charts("confirmed", ROWS, MEASURES["accuracy"]))
    assert picture.about == "Of 2 changes, 0 help and 0 harm beyond chance."
    (marked,) = pictured(confirmed_charts("confirmed", [*ROWS[:1], {**ROWS[1], "marked": True}], MEASURES["accuracy"]))
    assert marked.about == "Of 1 change, 1 helps and 0 harm beyond chance."
    assert "gain in accuracy (points; + helps)" in picture.svg
    assert ">over the base<" in picture.svg
    (nothing,) = pictured(confirmed_charts("confirmed", ROWS[:1], MEASURES["accuracy"]))
    assert nothing.about == "no row has a gain over another one"


def test_a_papers_rows_are_drawn_beside_ours() -> None:
    (picture,) = pictured([compared_chart(ROWS, MEASURES["perplexity"], "test")])
    assert picture.about.startswith("1 of 1 gains have the sign of the paper's")
    assert "(+ helps, and lowers it)" in picture.svg
    (nothing,) = pictured([compared_chart(ROWS[2:], MEASURES["accuracy"], "dev")])
    assert nothing.about == "no row has a gain both in the paper and here"


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_picture_of_studies_names_the_split_on_which_they_are_compared(split: Split) -> None:
    found = compare_studies({"a": record_of(study()), "b": record_of(study())})
    confirmed, _ = studies_charts([], found.budgets, found.measure, split)
    assert confirmed.heading == f"Confirmed on {split}"


@pytest.mark.slow
def test_studies_are_drawn_by_what_they_confirmed_and_by_what_they_explored() -> None:
    one, other = record_of(CONFIG, *trials()), record_of(CONFIG, *trials(seeds=(7, 8, 9)))
    forest, explored = studies_report(compare_studies({"runs/a": one, "runs/b": other})).pictures()
    assert forest.about == "Gains over runs/a, config by config."
    assert forest.svg.count(">runs/b<") == 4
    assert ">runs/a<" not in forest.svg
    assert f">{DEPTH}=5<" in forest.svg
    assert "expected best accuracy on dev (%)" in explored.svg
    assert {name for name in ("epochs", "runs/a", "runs/b") if f">{name}<" in explored.svg} == {
        "epochs",
        "runs/a",
        "runs/b",
    }
    searched = StudyRecord.of(history(study(trials=30), seed=1))
    forest, explored = studies_report(compare_studies({"a": searched, "b": record_of(study())})).pictures()
    assert forest == Picture("Confirmed on test", "nothing is confirmed in more than one of the studies")
    assert explored.svg


@pytest.mark.slow
def test_a_report_without_pictures_loads_no_library_that_draws() -> None:
    code = (
        "import sys, skipstack.dashboards.cli\n"
        "from skipstack.dashboards.formats.rendering import render\n"
        "from tests.dashboards.test_comparison import made_up\n"
        "from skipstack.dashboards.reports.confirmation.comparison_report import comparison_report\n"
        "for form in ('text', 'markdown', 'latex', 'csv', 'json'): render(comparison_report(made_up()), form)\n"
        "print(*{'altair', 'vl_convert', 'matplotlib', 'torch'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


@pytest.mark.slow
def test_a_study_with_an_axis_of_numbers_has_the_course_of_its_scores() -> None:
    config = grid()
    (table, course) = ablated_report(*_confirmed(record_of(config, *events(config, GRID)))).pictures()
    assert table.heading.endswith("confirmed on test")
    assert course.heading == "Scores along hidden"
    assert course.about.startswith("accuracy by hidden, a line for each value of gate.")
    assert "accuracy on test (%)" in course.svg
    walked = grid(proposer="one_at_a_time")
    (_, course) = ablated_report(*_confirmed(record_of(walked, *events(walked, GRID)))).pictures()
    assert course.about.startswith("accuracy by hidden. Points are means over seeds")


def _confirmed(record: StudyRecord) -> tuple[StudyRecord, Confirmation]:
    found = by_design(record)
    assert found is not None
    return record, found


@pytest.mark.slow
def test_python_without_docstrings_draws_nothing_and_says_so() -> None:
    """Altair cannot be imported by ``python -OO``, or with ``PYTHONOPTIMIZE=2``."""
    program = (
        "from skipstack.dashboards.formats.rendering import render\n"
        "from skipstack.dashboards.reports.exploration.report import exploration_report\n"
        "from skipstack.dashboards.reports.pictures.drawing_process import DRAWING\n"
        "from skipstack.search.api.study import exploration_of\n"
        "from skipstack.search.study.record.study_record import StudyRecord\n"
        "from tests.search.made_up import history, study\n"
        "report = exploration_report(exploration_of(StudyRecord.of(history(study(trials=3), seed=1))))\n"
        "print(render(report, 'html'), DRAWING.trouble)\n"
    )
    ran = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("PYTHONOPTIMIZE=2") == 2, "the page says so, and where the study is recorded"
