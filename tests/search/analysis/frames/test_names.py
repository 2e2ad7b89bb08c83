"""Axes and metrics of a function may have any name, also that of a column: nothing but their names differs then."""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import pandas as pd
import pytest

import skipstack
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.dashboards.reports.exploration.table import headline, numbers_of, table
from skipstack.dashboards.reports.pictures.search_pictures import search_charts
from skipstack.dashboards.web.effects_page import QUESTIONS, TRIALS
from skipstack.dashboards.web.page_names import WORKS
from skipstack.dashboards.web.trials_table import listed
from skipstack.search.analysis.exploration import budgets, exploration_frame, footprint, importance, pairs, rungs
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.exploration.table import BASE, BASELINE, BEST, ValueRow
from skipstack.search.analysis.frames.columns import COLUMNS
from skipstack.search.analysis.frames.frame_cache import as_parquet, from_parquet
from skipstack.search.analysis.study_frames import StudyFrames
from skipstack.search.api.study import exploration_of
from skipstack.search.execution.workers.reporting import MODEL, SCORE, TAKEN, TEST, Report
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import Entry
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.study.record.reading import read_study
from skipstack.spaces.function import RESERVED
from tests.command_line import typed
from tests.dashboards.web.shown import Opened
from tests.search.functions import Config, searched

OBJECTIVES = {"gain": "maximize", "cost": "minimize"}

OF_COLUMNS = {
    *(column.name for columns in COLUMNS.values() for column in columns),
    *(importance.COLUMNS + pairs.COLUMNS + rungs.RUNG_COLUMNS + rungs.PAIR_COLUMNS),
    *(budgets.COLUMNS + footprint.COLUMNS),
    *exploration_frame.COLUMNS,
    *numbers_of(ValueRow(axis="", value="", trials=0, scored=0)),
    *("best epoch", "gain on dev", "page", "index", "kind", "at", "apart", "rank", "height", "text", "study", "name"),
    *(BASELINE, BASE, BEST, "objective_cost", "best_score", "ended", "latency"),
}
"""The names of all columns: of the frames of ``Study``, of reports and of charts; and names of rows and of a run's
metrics.
"""

COMMON = ("score", "dev", "state", "trial", "epochs", "gain on dev")
"""The axes that the pages of the dashboard draw."""

REST = sorted(OF_COLUMNS - {*COMMON, *RESERVED, "axis"})

AXES = [
    (*COMMON, "axis", *REST[::5]),
    *((*COMMON, "axis.score", *REST[start::5]) for start in range(1, 5)),
]
"""Every name, in groups, since an analysis of all at once takes long. A function may have one of ``axis`` and
``axis.score``, whose name looks like the column of ``score``.
"""

METRICS = sorted((OF_COLUMNS | {"metric.dev"}) - {SCORE, TEST, MODEL, "epoch", "objective_cost", *TAKEN})
"""Every name that a function may report."""


@dataclass(frozen=True)
class Both:
    """Two studies that are alike but for the names of axes and metrics.

    ``found``: the frames of the one, whose axes and metrics have names of columns. ``expected``: those of the other.
    ``seen``, ``plain``: what the search of the one, and of the other, saw. ``axes``, ``metrics``: the names in the one
    by the names in the other.
    """

    found: StudyFrames
    expected: StudyFrames
    seen: Exploration
    plain: Exploration
    axes: dict[str, str]
    metrics: dict[str, str]


def study(path: Path, axes: list[str], metrics: list[str]) -> StudyFrames:
    """Eight trials over these axes, of two epochs that report these metrics; two axes matter."""

    def objective(config: Config, report: Report) -> None:
        values = [config[name] for name in axes]
        told = {name: float(place + values[place % len(values)]) for place, name in enumerate(metrics)}
        for epoch in (1, 2):
            report(gain=values[0] - abs(values[1] - 3) + epoch, cost=values[2], **told)

    space = {
        "axes": {name: {"choice": [1, 3, 9]} for name in axes},
        "search": {"proposer": "random", "scheduler": "none", "trials": 8, "seeds": 2, "objectives": OBJECTIVES},
    }
    return StudyFrames.of(searched(path, objective, space, epochs=2), path)


@pytest.fixture(
    scope="module", params=[0, *(pytest.param(group, marks=pytest.mark.slow) for group in range(1, len(AXES)))]
)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder, own = tmp_path_factory.mktemp("names"), AXES[request.param]
    axes = {f"plain{place:03}": name for place, name in enumerate(own)}
    metrics = {f"told{place:03}": name for place, name in enumerate(METRICS)}
    found = study(folder / "taken", list(axes.values()), list(metrics.values()))
    expected = study(folder / "plain", list(axes), list(metrics))
    return Both(found, expected, found.exploration(), expected.exploration(), axes, metrics)


def column(axis: str) -> str:
    """The column of an axis in ``trials``, as the page of columns has it."""
    return axis if "." in axis and not axis.startswith("axis.") else f"axis.{axis}"


def alike(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """They are the same but for what a clock says."""
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"))


def test_trials_have_each_axis_beside_their_results(both: Both) -> None:
    found, expected = both.found.trials, both.expected.trials
    assert found.columns.is_unique
    results = [each.name for each in COLUMNS["trials"] if each.name not in ("trial", "point")] + ["objective_cost"]
    alike(found[results], expected[results])
    for plain, name in both.axes.items():
        values = [json.loads(str(point))[name] for point in found["point"]]
        assert found[column(name)].tolist() == values == expected[f"axis.{plain}"].tolist()
    assert {name for name in found.columns if "." not in name} == {*results, "point"}


def test_curves_have_each_metric_beside_their_own_columns(both: Both) -> None:
    found, expected = both.found.curves, both.expected.curves
    own = [*(each.name for each in COLUMNS["curves"]), "objective_cost"]
    alike(found[own], expected[own])
    for plain, name in both.metrics.items():
        assert found[f"metric.{name}"].tolist() == expected[f"metric.{plain}"].tolist()
    assert len(found.columns) == len(own) + len(both.metrics)


def test_frames_stay_what_they_are_in_parquet(both: Both, tmp_path: Path) -> None:
    both.found.to_parquet(tmp_path)
    for name in ("trials", "seeds", "curves"):
        frame = getattr(both.found, name)
        pd.testing.assert_frame_equal(from_parquet(name, as_parquet(frame)), frame)
        plain = frame.reset_index() if name == "trials" else frame
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), plain)


def of_row(both: Both, axis: str) -> str:
    """What a row of the first study says where that of the second says ``axis``: a row that is no axis's keeps its
    name, and an axis that is called as such a row is told from it.
    """
    name = both.axes.get(axis, axis)
    return column(name) if axis in both.axes and name in (BASELINE, BASE, BEST, "axis.score") else name


@pytest.mark.slow
def test_the_analysis_is_the_same(both: Both) -> None:
    found, expected = both.seen, both.plain
    assert (found.best, found.epochs, found.ends) == (expected.best, expected.epochs, expected.ends)
    assert found.apart == [both.axes[axis] for axis in expected.apart]
    rows = exploration_frame.exploration_frame(expected)
    rows["axis"] = [of_row(both, axis) for axis in rows["axis"]]
    alike(exploration_frame.exploration_frame(found), rows.astype({"axis": "str"}))
    ours, theirs = found.importances, expected.importances
    assert ours["axis"].tolist() == [both.axes[axis] for axis in theirs["axis"]]
    pd.testing.assert_frame_equal(ours.drop(columns="axis"), theirs.drop(columns="axis"))


@pytest.mark.slow
def test_reports_are_the_same(both: Both) -> None:
    seen = both.seen
    found, expected = exploration_report(seen), exploration_report(both.plain)
    rows = [{**row, "seconds": 0, "axis": of_row(both, str(row["axis"]))} for row in expected.records]
    assert [{**row, "seconds": 0} for row in found.records] == rows
    assert [row.names[0] for row in headline(found.records, seen.measure).rows] == [BASE, BEST]
    assert len(table(found.records, seen.measure).rows) == 3 * len(both.axes)
    for form in ("text", "markdown", "latex", "csv", "json"):
        assert render(found, form, full=True)


@pytest.mark.slow
def test_charts_are_drawn(both: Both) -> None:
    found, expected = (list(search_charts(each)) for each in (both.seen, both.plain))
    assert [callable(each.draw) for each in found] == [callable(each.draw) for each in expected]
    for each in found:
        assert isinstance(each.draw, str) or each.draw() is not None


@pytest.mark.slow
def test_the_pages_show_each_value(both: Both) -> None:
    folder, points = both.found.past.folder.parent, both.seen.seen.points
    for question in QUESTIONS:
        page = Opened(folder.parent, WORKS, study=folder.name, question=question, axes=list(COMMON))
        if question == TRIALS:
            shown = listed(both.seen, both.seen.seen.trials)
            assert [int(row) for row in page.rows("trials")] == shown.index.tolist()
            assert shown.columns.is_unique
            assert shown["state"].tolist() == ["completed"] * 8
            for name in COMMON:
                its = f"axis.{name}" if name in ("state", "epochs", "trial") else name
                assert shown[its].tolist() == points.loc[shown.index, name].tolist()
            (across,) = (chart for name, chart in page.charts.items() if name.startswith("Each line is a trial"))
            assert len({row["axis"] for row in across.rows[1]}) == len(COMMON) + 1


def run_of(frames: StudyFrames) -> Entry:
    """The run of the first trial in MLflow."""
    runs = ExpectedRuns()
    for event in Ledger(frames.past.folder).read():
        runs.apply(event)
    return runs.pending[None, 0]


def test_runs_in_mlflow_have_each_value(both: Both) -> None:
    found, expected = run_of(both.found), run_of(both.expected)
    assert (len(found.params), len(found.metrics)) == (len(expected.params), len(expected.metrics))
    for plain, name in both.axes.items():
        assert found.params[f"axis.{name}"] == expected.params[f"axis.{plain}"]
    for plain, name in both.metrics.items():
        assert found.metrics[name, 2][0] == expected.metrics[plain, 2][0]


SCORES = {"axes": {"score": {"choice": [1, 3, 9]}}, "search": {"proposer": "grid", "trials": 3, "scheduler": "none"}}


def near_three(config: Config) -> float:
    return 1 - abs(config["score"] - 3) / 10


def test_the_best_trial_is_the_best_where_an_axis_is_called_score(tmp_path: Path) -> None:
    record = searched(tmp_path, near_three, SCORES)
    seen = exploration_of(record)
    assert seen.best is not None
    assert record.trials[seen.best].point == {"score": 3}
    assert [(row.axis, row.value, mean(row.dev)) for row in seen.rows if row.leads] == [("score", "3", 1.0)]


@pytest.mark.slow
def test_an_ablation_confirms_the_best_where_an_axis_is_called_score(tmp_path: Path) -> None:
    found = skipstack.search(SCORES, near_three, out=tmp_path / "study", engine="serial", seeds=2)
    trials = found.trials()
    scores = dict(zip(trials["axis.score"], trials["score"], strict=True))
    assert scores == pytest.approx({1: 0.8, 3: 1.0, 9: 0.4})
    assert found.best()["axis.score"].tolist() == [3]
    skipstack.ablate(found.folder, near_three, seeds=3)
    rows = found.exploration().set_index("axis")
    assert rows.loc["best", ["selected", "dev"]].tolist() == [found.best().index[0], 1.0]
    winner = next(each for each in read_study(found.folder).ablations[1].plan.rows if each.roles[0].kind == "winner")
    assert winner.point == {"score": 3}
    report = typed("report", found.folder).out
    assert "winner 1 +0.2 ± – base" in " ".join(report.split())
    assert "best, trial 1          1 " in report
