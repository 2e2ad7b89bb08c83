"""Every page of the dashboard shows what the frames and the reports say, and nothing that a search did not test is
marked.
"""

from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from skipstack.dashboards.web.app import PAGES
from skipstack.dashboards.web.export_page import differing
from skipstack.data.basis.user_code.configs import known
from skipstack.data.basis.user_code.files import read_code
from skipstack.search.analysis.exploration.rungs import LEAST
from skipstack.search.analysis.study_frames import StudyFrames, study_frames
from skipstack.search.ledger.events import Ended, Finished, Reported, Usage, Used
from skipstack.spaces.trial import TrialConfig
from tests.dashboards.web.shown import Opened, write
from tests.own_code.pieces_of import RIGHT
from tests.search.analysis.confirmation.test_confirmation import CONFIG, trials
from tests.search.analysis.confirmation.test_trends import WALK, walked
from tests.search.made_up import DEPTH, RATE, history, opening, study

GOING, WORKS, TRUST, TAKEAWAY = PAGES


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search, one that is not over, a confirmation by design, and one whose ledger is damaged."""
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "a-search", history(study(trials=30), seed=1))
    write(folder / "deep" / "begun", islice(history(study(trials=30), seed=1), 61))
    write(folder / "grid", [*opening(CONFIG), *trials(), Finished(time=0.0)])
    (write(folder / "torn", opening(CONFIG)) / "ledger" / "000001.jsonl").write_text("what?\nand what?\n")
    return folder


@pytest.fixture(scope="module")
def frames(runs: Path) -> StudyFrames:
    return study_frames(runs / "a-search")


def test_the_first_page_has_a_row_for_each_study_and_says_what_is_wrong_with_one(
    runs: Path, frames: StudyFrames
) -> None:
    table = Opened(runs).app.dataframe[0].value.set_index("study")
    assert list(table.index) == ["a-search", "deep/begun", "grid", "torn"]
    searched = table.loc["a-search"]
    best = frames.trials["dev"].max()
    assert (searched["state"], searched["trials"], searched["confirmed"]) == ("finished", "30 of 30", "no")
    assert (searched["best"], searched["trial"]) == (100 * best, frames.trials["dev"].idxmax())
    assert table.loc["deep/begun", "state"].startswith("not finished, ")
    assert table.loc["grid", "confirmed"] == "yes"
    assert "damaged" in table.loc["torn", "state"]


def test_studies_are_compared_where_they_can_be(runs: Path) -> None:
    alike = Opened(runs, compared=["a-search", "deep/begun"])
    assert "Nothing is confirmed in more than one of them" in alike.text
    assert "The best that one expects after so many epochs" in alike.charts


@pytest.mark.first(1)
@pytest.mark.parametrize("page", PAGES)
def test_each_page_of_a_study_begins_with_its_verdict(runs: Path, page: str) -> None:
    begins = {
        "a-search": "Exploratory, not confirmed: trial ",
        "deep/begun": "Not finished, no verdict yet: ",
        "grid": "Of 3 rows compared with the base on test with 3 seeds, 1 is worse (depth 1: -27.22",
    }
    for name, said in begins.items():
        text = Opened(runs, page, study=name).text
        assert text.lstrip().startswith(said)
        assert text.count(said) == 1


def test_how_it_goes_is_what_the_ledger_says(runs: Path) -> None:
    page = Opened(runs, GOING, study="deep/begun")
    seen = study_frames(runs / "deep" / "begun").trials
    running = (seen["state"] == "running").sum()
    assert page.metrics["trials ended"] == f"{len(seen) - running} of 30"
    assert page.metrics["trials training"] == str(running)
    assert page.metrics["best accuracy on dev (%)"] == f"{100 * seen['dev'].max():.2f}"
    assert len(page.metrics) == 4
    assert f"{seen['epochs'].sum()} epochs and " in page.text
    points = page.charts[f"Trial {seen['dev'].idxmax()} is the best so far"].rows[1]
    assert {row["trial"]: row["value"] for row in points} == {
        number: pytest.approx(100 * dev) for number, dev in seen["dev"].dropna().items()
    }


def test_where_workers_measure_what_they_take_it_stands_beside_what_they_train(tmp_path: Path) -> None:
    usage = Usage(
        machine="node-7",
        process=12,
        process_cpu=97.6,
        process_memory=1_234_000_000,
        machine_cpu=50.0,
        machine_memory=2,
        machine_memory_total=3,
    )
    events = list(islice(history(study(trials=30), seed=1), 61))
    over = {event.trial for event in events if isinstance(event, Ended)}
    last = [event for event in events if isinstance(event, Reported) and event.trial not in over][-1]
    write(tmp_path / "begun", [*events, Used(time=last.time, trial=last.trial, epoch=last.epoch, usage=usage)])
    workers = Opened(tmp_path, GOING, study="begun").text.split("Workers")[1]
    said = " ".join(workers.split())
    assert "epochs machine processor % memory GPU % differs" in said
    assert f"trial {last.trial} {last.epoch} node-7 98 1.23 GB –" in said


def test_what_works_is_described_and_a_filter_leaves_some_of_the_trials(runs: Path, frames: StudyFrames) -> None:
    page = Opened(runs, WORKS, study="a-search")
    assert "Exploration: what the search saw, described and not tested." in page.text
    scored = frames.trials.dropna(subset=["dev"])

    def shown(page: Opened) -> list[int]:
        panels = page.charts["The score of each trial, over each axis alone"].rows
        return sorted({row["trial"] for rows in panels for row in rows})

    assert shown(page) == sorted(scored.index)
    page.app.multiselect(key="states").select("stopped").run()
    assert shown(page) == sorted(scored.index[scored["state"] == "stopped"])
    depth = int(scored[scored["state"] == "stopped"][DEPTH].mode()[0])
    page.app.multiselect(key="only").select(f"depth {depth}").run()
    some = scored.index[(scored["state"] == "stopped") & (scored[DEPTH] == depth)]
    assert shown(page) == sorted(some)
    assert len(some) < len(scored)


def test_the_whole_report_is_folded_and_made_once_it_is_opened(runs: Path) -> None:
    folded, opened = (Opened(runs, WORKS, study="a-search", report=shown).text for shown in (False, True))
    assert "differs from the base in:" not in folded
    assert "differs from the base in:" in opened
    assert "importance" in opened


QUESTIONS = {
    "Which axes, and which together?": [
        " are the best on average: ",
        "Where the good trials lie over depth and gate",
        " explains more of the scores than by chance",
        " beyond what each does alone",
    ],
    "Which trials?": ["Each line is a trial; ", " trials are worse than ", "The configs that were tried"],
    "At what cost?": [" are beaten by none that costs less"],
}


@pytest.mark.first(1)
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_its_charts_and_none_has_an_interval(runs: Path, question: str) -> None:
    page = Opened(runs, WORKS, study="a-search", question=question)
    untold = "Pairs of axes (no pair of values stands out from what pairs have by chance)" in page.text
    said = [part for part in QUESTIONS[question] if not (untold and "beyond what each" in part)]
    assert [part for part in said if not any(part in headline for headline in page.charts)] == []
    assert len(page.charts) == len(said)
    assert "±" not in page.text
    intervals = [row for chart in page.charts.values() for rows in chart.rows for row in rows if row.get("low")]
    assert intervals == []


@pytest.mark.slow
def test_no_chart_stands_on_two_pages_and_none_has_a_second_headline(runs: Path) -> None:
    pages = [Opened(runs, page, study="a-search") for page in PAGES]
    pages += [Opened(runs, WORKS, study="a-search", question=question) for question in QUESTIONS]
    headlines = [headline for page in pages for headline in page.charts]
    assert len(headlines) == len(set(headlines)) > 8
    assert [spec for page in pages for chart in page.charts.values() for spec in chart.specs if "title" in spec] == []


def test_only_what_is_confirmed_has_intervals_and_a_papers_figures_stand_beside_it(runs: Path) -> None:
    confirmed = Opened(runs, TRUST, study="grid")
    assert "±: half the 95 % interval" in confirmed.text
    (forest,) = [chart for title, chart in confirmed.charts.items() if "beyond chance" in title]
    assert all(row["low"] < row["effect"] < row["high"] for rows in forest.rows for row in rows if "effect" in row)
    explored = Opened(runs, TRUST, study="a-search", paper="wu2017/table-2")
    assert "Nothing is confirmed" in explored.text
    assert "our differences are only described" in explored.text or "was not tried" in explored.text
    assert "±: half" not in explored.text
    (rungs,) = [chart for title, chart in explored.charts.items() if "have a rank correlation of" in title]
    same = [row for row in rungs.rows[0] if row["one"] == row["other"]]
    assert all(row["correlation"] == pytest.approx(1) for row in same if row["n"] >= LEAST)
    assert all(row["correlation"] is None for row in same if row["n"] < LEAST)
    assert {row["n"] >= LEAST for row in same} == {True, False}


def test_a_study_that_changes_one_axis_at_a_time_has_a_chart_along_each_axis_of_numbers(tmp_path: Path) -> None:
    write(tmp_path / "walk", [*opening(WALK), *walked(), Finished(time=0.0)])
    drawn = Opened(tmp_path, TRUST, study="walk").charts
    assert {"accuracy by hidden", "accuracy by depth"} <= set(drawn)


def test_two_trials_are_compared_path_by_path_and_drawn(runs: Path, frames: StudyFrames) -> None:
    page = Opened(runs, TAKEAWAY, study="a-search", one=1, other=2)
    points = frames.trials.loc[[1, 2], [DEPTH, RATE]]
    apart = page.text.split("Differences")[1].split("Inside a network")[0].split("path value")[0]
    for path in (DEPTH, RATE):
        one, other = points[path]
        same = one == other or (pd.isna(one) and pd.isna(other))
        assert (path in apart) is not same
        assert same or f"{one}" in apart
    assert len(page.app.get("image")) == 2
    assert "The weights of the trials are not here." in page.text
    assert len(page.app.get("download_button")) == 5


def test_files_of_own_code_are_no_difference_beside_the_pieces_that_they_define() -> None:
    with known([read_code(RIGHT, "right.py")]):
        own = TrialConfig.model_validate({"model": {"stack": {"shortcut": {"gate": "soft_step"}}}})
    apart, _ = differing(own, TrialConfig())
    gate = "model.stack.shortcut.gate"
    assert {path for path, *_ in apart} == {gate, f"{gate}.kind", f"{gate}.slope"}
