"""The page "Can I believe it?" has intervals for what is confirmed alone, and a paper's figures beside ours."""

from itertools import islice
from pathlib import Path

import pytest

from skipstack.dashboards.web.page_names import BELIEVE
from skipstack.search.analysis.exploration.rungs import LEAST
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.ledger.events import Finished
from tests.dashboards.web.shown import Opened, write
from tests.dashboards.web.test_running_page import all_failed
from tests.search.analysis.confirmation.test_confirmation import CONFIG, trials
from tests.search.analysis.confirmation.test_trends import WALK, walked
from tests.search.made_up import history, opening, study


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search, one that is not over, and a confirmation by design."""
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "a-search", history(study(trials=30), seed=1))
    write(folder / "deep" / "begun", islice(history(study(trials=30), seed=1), 61))
    write(folder / "grid", [*opening(CONFIG), *trials(), Finished(time=0.0)])
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a-search", "Exploratory, not confirmed: trial "),
        ("deep/begun", "Not finished, no verdict yet: "),
        ("grid", "Of 3 rows compared with the base on test with 3 seeds, 1 is worse (depth 1: -27.22"),
    ],
)
def test_it_begins_with_the_verdict_and_says_it_once(runs: Path, name: str, said: str) -> None:
    page = Opened(runs, BELIEVE, study=name)
    assert page.text.count(said) == 1
    assert page.html.index('<h1 class="verdict">') < page.html.index("<h2>")


@pytest.mark.parametrize(("events", "when"), [(None, ""), (101, "once the search is finished, ")])
def test_where_nothing_is_confirmed_the_command_stands_that_does(tmp_path: Path, events: int | None, when: str) -> None:
    path = write(tmp_path / "study", islice(history(study(trials=30), seed=1), events))
    assert f"To confirm, {when}skipstack ablate {path} trains the best config" in Opened(tmp_path, BELIEVE).text


def test_no_command_confirms_a_study_whose_trials_all_failed(tmp_path: Path) -> None:
    write(tmp_path, [*all_failed(), Finished(time=0.0)])
    text = Opened(tmp_path, BELIEVE).text
    assert ("Nothing is confirmed" in text, "ablate" in text) == (True, False)


def test_scores_after_one_number_of_epochs_alone_are_compared_with_none(runs: Path) -> None:
    page = Opened(runs, BELIEVE, study="deep/begun")
    assert f"Short and long trainings (it takes {LEAST} trials of several epochs)" in page.text
    assert not [title for title in page.charts if "rank correlation" in title.lower()]


def test_only_what_is_confirmed_has_intervals_and_a_papers_figures_stand_beside_it(runs: Path) -> None:
    confirmed = Opened(runs, BELIEVE, study="grid")
    assert "±: half of its interval" in confirmed.text
    line = "depth: 1 beside 3, -27.22 ± 4.25, harms; 5, nothing shown up to 14.83"
    assert confirmed.text.count(line) == 1
    assert confirmed.text.index(line) < confirmed.text.index("confirmed on test"), "below the verdict"
    (forest,) = [chart for title, chart in confirmed.charts.items() if "beyond chance" in title]
    drawn = [row for rows in forest.rows for row in rows if "effect" in row]
    assert len({row["line"] for row in drawn}) == 3
    assert all(row["low"] < row["effect"] < row["high"] for row in drawn)
    explored = Opened(runs, BELIEVE, study="a-search", paper="wu2017/table-2")
    assert "Nothing is confirmed" in explored.text
    assert "our gains are only described, and none is tested: asha stops trials by their scores" in explored.text
    frames = study_frames(runs / "a-search")
    dev, test = (f"{100 * frames.trials.loc[frames.base, split]:.2f}" for split in ("dev", "test"))
    assert f"shortcut block 94.74 94.95 base {dev} base {test} {frames.base} " in explored.text
    assert "±: half" not in explored.text
    (rungs,) = [chart for title, chart in explored.charts.items() if "have a rank correlation of" in title]
    same = [row for row in rungs.rows[0] if row["one"] == row["other"]]
    assert all(row["correlation"] == pytest.approx(1) for row in same if row["n"] >= LEAST)
    assert all(row["correlation"] is None for row in same if row["n"] < LEAST)
    assert {row["n"] >= LEAST for row in same} == {True, False}


def test_an_unknown_table_of_a_paper_is_told_with_the_nearest_name(runs: Path) -> None:
    page = Opened(runs, BELIEVE, study="a-search", paper="wu2017/table-22")
    assert "unknown table 'wu2017/table-22' (nearest: 'wu2017/table-2'; allowed: " in page.text


def test_a_study_that_changes_one_axis_at_a_time_has_a_chart_along_each_axis_of_numbers(tmp_path: Path) -> None:
    write(tmp_path / "walk", [*opening(WALK), *walked(), Finished(time=0.0)])
    drawn = Opened(tmp_path, BELIEVE).charts
    assert {"accuracy by hidden", "accuracy by depth"} <= set(drawn)
