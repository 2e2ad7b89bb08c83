"""The page "What works?" shows what the frames and the report say; nothing that a search did not test is marked."""

import csv
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from skipstack.dashboards.web.page_names import BELIEVE, GOING, TAKE, WORKS
from skipstack.search.analysis.study_frames import StudyFrames, study_frames
from tests.dashboards.web.shown import Opened, write
from tests.search.made_up import DEPTH, GATE, history, study

QUESTIONS = {
    "Which axes, and which together?": [
        " are the best on average: ",
        "Where the good trials lie over depth and gate",
        " is shown to matter",
        " beyond what each does alone",
    ],
    "Which trials?": ["Each line is a trial; ", " trials are worse than ", "The configs that were tried"],
    "At what cost?": [" are beaten by none that costs less"],
}
"""What the headlines of a question's charts say."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "first", history(study(trials=2), seed=1))
    write(folder / "a-search", history(study(trials=30), seed=1))
    return folder


@pytest.fixture(scope="module")
def frames(runs: Path) -> StudyFrames:
    return study_frames(runs / "a-search")


def opened(runs: Path, name: str = "a-search", **query: Any) -> Opened:
    """The page about one of the studies."""
    return Opened(runs, WORKS, study=name, **query)


def trials_in(page: Opened) -> list[int]:
    panels = page.charts["The score of each trial, over each axis alone"].rows
    return sorted({row["trial"] for rows in panels for row in rows})


def test_what_works_is_described_and_a_filter_leaves_some_of_the_trials(runs: Path, frames: StudyFrames) -> None:
    page = opened(runs, after="end")
    assert "Exploration: what the search saw, described and not tested." in page.text
    scored = frames.trials.dropna(subset=["dev"])
    assert trials_in(page) == sorted(scored.index)
    assert trials_in(opened(runs, after="end", states="stopped")) == sorted(scored.index[scored["state"] == "stopped"])
    depth = int(scored[scored["state"] == "stopped"][DEPTH].mode()[0])
    some = scored.index[(scored["state"] == "stopped") & (scored[DEPTH] == depth)]
    assert trials_in(opened(runs, after="end", states="stopped", only=f"depth {depth}")) == sorted(some)
    assert 0 < len(some) < len(scored)


def test_an_endless_number_of_epochs_in_an_address_is_that_of_no_rung(runs: Path) -> None:
    page = opened(runs, after="1" * 5_000)
    assert (page.status, "unknown number of epochs '111" in page.text) == (404, True)


def test_an_address_opens_the_view_that_it_came_from(runs: Path, frames: StudyFrames) -> None:
    page = opened(runs, states=["stopped"], only=["depth 1"], axes=["learning_rate"], after="end")
    for value in ("stopped", "depth 1", "learning_rate"):
        assert f'value="{value}" checked' in page.page
    chart = page.charts["The score of each trial, over each axis alone"]
    trials = frames.trials
    expected = trials[(trials["state"] == "stopped") & (trials[DEPTH] == 1) & trials["dev"].notna()]
    assert [[row["trial"] for row in rows] for rows in chart.rows] == [expected.index.tolist()]
    assert 0 < len(expected) < len(trials)


@pytest.mark.slow
def test_where_trials_were_stopped_they_are_compared_after_equally_many_epochs(runs: Path, frames: StudyFrames) -> None:
    """The last rung that half of them reached; where the reader chooses another one, after that."""
    reached = frames.reached
    rungs = frames.exploration().compared
    half = max(rung for rung in rungs if 2 * reached[rung].notna().sum() >= len(reached))
    for query, rung in (({}, half), ({"after": str(rungs[0])}, rungs[0])):
        page = opened(runs, **query)
        drawn = page.charts["The score of each trial, over each axis alone"]
        assert f"The best up to epoch {rung} of each trial" in drawn.note
        shown = {row["trial"]: row["value"] for rows in drawn.rows for row in rows}
        assert shown == {number: pytest.approx(100 * score) for number, score in reached[rung].dropna().items()}
    assert len(reached[half].dropna()) < len(frames.trials)


@pytest.mark.slow
def test_the_whole_report_is_folded_and_made_once_it_is_opened(runs: Path) -> None:
    page = opened(runs)
    assert "differs from the base in:" not in page.page
    assert "differs from the base in:" in page.text
    assert "importance" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_its_charts_and_none_has_an_interval(runs: Path, question: str) -> None:
    page = opened(runs, question=question)
    untold = "Pairs of axes (no pair of values stands out from what pairs have by chance)" in page.text
    said = [part for part in QUESTIONS[question] if not (untold and "beyond what each" in part)]
    charts = page.charts
    assert [part for part in said if not any(part in headline for headline in charts)] == []
    assert len(charts) == len(said)
    without_report = Opened.words(page.page)
    assert "±" not in without_report
    intervals = [row for chart in charts.values() for rows in chart.rows for row in rows if row.get("low")]
    assert intervals == []


@pytest.mark.slow
def test_no_chart_stands_on_two_pages_and_none_has_a_second_headline(runs: Path) -> None:
    asked: list[Mapping[str, str]] = [{}, *({"question": question} for question in QUESTIONS)]
    pages = [opened(runs, **each) for each in asked]
    pages += [Opened(runs, page, study="a-search") for page in (GOING, BELIEVE, TAKE)]
    headlines = [headline for page in pages for headline in page.charts]
    assert len(headlines) == len(set(headlines)) > 8
    assert [spec for page in pages for chart in page.charts.values() for spec in chart.specs if "title" in spec] == []


@pytest.mark.slow
def test_two_trials_are_drawn_without_a_number_that_is_none(runs: Path) -> None:
    for question in ("Which values?", *QUESTIONS):
        page = opened(runs, "first", question=question)
        assert page.charts
        assert "nan" not in page.text.lower().split()


def test_the_table_of_trials_is_sorted_searched_and_fetched(runs: Path, frames: StudyFrames) -> None:
    page = opened(runs, question="Which trials?", sort="seconds")
    numbers = [int(row) for row in page.rows("trials")]
    assert sorted(numbers) == frames.trials.index.tolist()
    assert frames.trials.loc[numbers, "seconds"].is_monotonic_increasing
    assert 'aria-sort="ascending"' in page.html
    ranked = frames.trials["score"].sort_values(ascending=False, kind="stable", na_position="last").index.tolist()
    assert [int(row) for row in opened(runs, question="Which trials?").rows("trials")] == ranked
    found = [int(row) for row in opened(runs, question="Which trials?", find="SIGMOID_below").rows("trials")]
    assert sorted(found) == sorted(frames.trials.index[frames.trials[GATE] == "sigmoid_below"])
    (address,) = {each for each in page.links if each.startswith("/files/trials.csv")}
    lines = list(csv.DictReader(StringIO(page.fetched(address))))
    assert [int(line["trial"]) for line in lines] == ranked
    best = frames.trials.loc[ranked[0]]
    assert float(lines[0]["dev %"]) == pytest.approx(100 * best["dev"])
