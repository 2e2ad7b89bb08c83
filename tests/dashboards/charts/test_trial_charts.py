"""Pictures of trials one by one: each has its mark in its place, and what is not drawn is said."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from skipstack.dashboards.charts import coordinates, history, slices
from skipstack.dashboards.charts.agreement import agreement
from skipstack.dashboards.charts.costs import score_against_cost
from skipstack.dashboards.charts.curves import learning_curves
from skipstack.dashboards.charts.distribution import distribution
from skipstack.dashboards.charts.drawing import words
from skipstack.dashboards.charts.fields import means_over, ranks_over
from skipstack.dashboards.charts.footprint import footprint
from skipstack.dashboards.charts.theme import BLUE, INK, ORANGE
from skipstack.dashboards.charts.timeline import lines, timeline
from skipstack.dashboards.web.trial_filters import logarithmic
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.api.study import exploration_of
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Normal
from tests.dashboards.charts.drawn import Drawing, place
from tests.search.made_up import raced_record

ACCURACY, PERPLEXITY = MEASURES["accuracy"], MEASURES["perplexity"]
NAN = float("nan")
DEPTH, RATE, GATE = "model.depth", "rate", "gate"
SHORT = {DEPTH: "depth", RATE: RATE, GATE: GATE}

TRIALS = pd.DataFrame(
    {
        "state": ["stopped", "completed", "completed", "stopped", "diverged"],
        "dev": [0.5, 0.7, 0.6, 0.8, NAN],
        DEPTH: pd.Series([1, 3, 1, 3, 5], dtype="Int64"),
        RATE: [0.001, 0.01, 0.02, 0.04, 0.1],
        GATE: pd.Series(["a", None, "b", "a", "b"], dtype="str"),
    }
).rename_axis("trial")
TRIALS["score"] = TRIALS["dev"]


def drawn(chart: Any, colour: str | None = None) -> list[tuple[float, float]]:
    """Where its symbols stand, of one colour or of all, from left to right."""
    drawing = Drawing(chart)
    marks = drawing.marks("symbol") if colour is None else drawing.coloured("symbol", colour)
    return sorted(map(place, marks))


def test_history_has_every_trial_in_order_and_the_best_so_far() -> None:
    chart = history.history(TRIALS, ACCURACY)
    places = drawn(chart)
    assert len(places) == 4
    heights = [height for _, height in places]
    assert np.argsort(heights).tolist() == [3, 1, 2, 0]
    steps = re.findall(r"[ML]([\d.]+),([\d.]+)", next(mark.get("d", "") for mark in Drawing(chart).marks("line")))
    corners = sorted({(float(x), float(y)) for x, y in steps})
    assert sorted({height for _, height in corners}) == pytest.approx(sorted({heights[0], heights[1], heights[3]}))
    assert "Trial 3 is the best so far." in words(chart)
    assert "Not drawn: 1 trial without a score." in words(chart)


def test_where_seeds_race_the_best_so_far_is_the_first_of_the_ranking() -> None:
    record = raced_record()
    seen, ranked = exploration_of(record), [trial.number for trial in record.ranked()]
    assert "Trial 0 is the best so far." in words(history.history(seen.seen.trials, ACCURACY, ranked))
    curves = learning_curves(seen.curves(), seen.seen.trials, ACCURACY, ranked=ranked).to_dict()
    rows = [row for rows in curves["datasets"].values() for row in rows]
    assert {row["trial"] for row in rows if row.get("kind") == "best trial"} == {0}


def test_the_best_perplexity_so_far_is_the_lowest() -> None:
    worse = TRIALS.assign(dev=[90.0, 80.0, 85.0, 70.0, NAN], score=[-90.0, -80.0, -85.0, -70.0, NAN])
    chart = history.history(worse, PERPLEXITY)
    assert "Trial 3 is the best so far." in words(chart)
    assert "perplexity on dev (lower is better)" in Drawing(chart).words


def test_of_many_trials_some_are_drawn_and_each_that_was_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST", 10)
    monkeypatch.setattr(slices, "MOST", 10)
    dev = np.random.default_rng(0).random(100)
    many = pd.DataFrame({"state": "completed", "dev": dev, "score": dev, RATE: dev}).rename_axis("trial")
    leads = {number for number in range(100) if dev[number] == dev[: number + 1].max()}
    shown = len({*range(0, 100, 10), *leads})
    chart = history.history(many, ACCURACY)
    assert len(drawn(chart)) == shown
    assert f"{shown} of 100 trials are drawn." in words(chart)
    few = len({*range(0, 100, 10), int(dev.argmax())})
    assert f"{few} of 100 trials are drawn." in words(slices.slices(many, ACCURACY, [RATE], names=SHORT))


def test_spans_stand_on_as_few_lines_as_were_trained_side_by_side() -> None:
    spans = pd.DataFrame(
        [(0, 0.0, 10.0, "completed"), (1, 1.0, 4.0, "stopped"), (2, 4.0, 8.0, "paused"), (3, 5.0, 9.0, "failed")],
        columns=["trial", "began", "until", "state"],
    ).assign(phase="training")
    assert lines(spans).tolist() == [1, 2, 2, 3]
    chart = timeline(spans)
    bars = Drawing(chart).marks("rect")
    assert len(bars) == 4
    lengths = [float(found[1]) for bar in bars if (found := re.search(r"h([\d.]+)", bar.get("d", "")))]
    assert [length / lengths[0] for length in lengths] == pytest.approx([1, 0.3, 0.4, 0.4], abs=0.01)
    assert words(chart) == "Up to 3 trials trained at a time, and workers were busy for 70 % of the time."


def test_what_waits_is_on_a_line_of_its_own_and_no_work() -> None:
    spans = pd.DataFrame(
        [
            (0, "training", 0.0, 4.0, "completed"),
            (1, "waiting", 0.0, 4.0, "training"),
            (1, "training", 4.0, 8.0, "stopped"),
            (0, "measuring", 8.0, 9.0, "measured"),
        ],
        columns=["trial", "phase", "began", "until", "state"],
    )
    chart = timeline(spans)
    assert {(row["trial"], row["line"], row["kind"]) for row in chart.data.values} == {
        (0, "1", "trained to its end"),
        (1, "waiting", "waited for a worker"),
        (1, "1", "stopped"),
        (0, "1", "measured on test"),
    }
    assert words(chart) == "One trial trained at a time, and workers were busy for 100 % of the time."


def test_slices_have_a_panel_an_axis_with_the_trials_in_which_it_is_active() -> None:
    drawing = Drawing(slices.slices(TRIALS, ACCURACY, [DEPTH, GATE], names=SHORT))
    assert len(drawing.coloured("symbol", BLUE)) + len(drawing.coloured("symbol", ORANGE)) == 4 + 3
    assert {"depth", GATE, "1", "3", "a", "b"} <= set(drawing.words)


def test_values_that_no_trial_with_a_score_has_stand_on_the_axis() -> None:
    rates = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    trials = pd.DataFrame(
        {"state": "stopped", "dev": [0.5, 0.6, 0.7, 0.6, NAN, NAN], RATE: rates, GATE: ["a", "b", "b", "a", "c", "a"]}
    ).rename_axis("trial")
    chart = slices.slices(trials.assign(score=trials["dev"]), ACCURACY, [GATE, RATE], names=SHORT, after=3)
    scales = [panel["encoding"]["x"]["scale"] for panel in chart.to_dict()["vconcat"]]
    assert [scale["domain"] for scale in scales] == [["a", "b", "c"], [0.1, 0.6]]
    assert len(drawn(chart)) == 2 * 4
    assert "Not drawn: 2 trials not trained so long, or without a score." in words(chart)


def test_fields_have_the_mean_of_their_trials_and_ranks_begin_with_the_best() -> None:
    chart = means_over(TRIALS, ACCURACY, DEPTH, GATE, names=SHORT)
    (rows,) = [chart.data.values]
    found = {(row["x"], row["y"]): (row["mean"], row["size"]) for row in rows}
    assert found == {("1", "a"): (50, 1), ("1", "b"): (60, 1), ("3", "a"): (80, 1)}
    assert len(Drawing(chart).marks("rect")) == 3
    assert "Not drawn: 2 trials without a score, or in which one of the axes is not active." in words(chart)
    ranks = {row["trial"]: row["rank"] for row in ranks_over(TRIALS, ACCURACY, DEPTH, RATE, names=SHORT).data.values}
    assert ranks == pytest.approx({3: 0, 1: 100 / 3, 2: 200 / 3, 0: 100})


def test_many_numbers_are_shown_in_parts_that_hold_them() -> None:
    rates = np.geomspace(0.001, 0.1, 40)
    many = pd.DataFrame({"dev": 0.5, DEPTH: 1, RATE: rates})
    rows = means_over(many, ACCURACY, RATE, DEPTH, names=SHORT, log=[RATE]).data.values
    assert sum(row["size"] for row in rows) == 40
    assert min(row["x"] for row in rows) == pytest.approx(0.001)
    assert max(row["x_end"] for row in rows) == pytest.approx(0.1)
    assert {round(row["x_end"] / row["x"], 6) for row in rows} == {round(100 ** (1 / 6), 6)}


def test_lines_run_through_every_axis_to_the_score_and_below_those_that_are_not_active() -> None:
    chart = coordinates.parallel_coordinates(TRIALS, ACCURACY, [DEPTH, GATE], names=SHORT)
    rows = chart.layer[1].data.values
    heights = {(row["trial"], row["axis"]): row["height"] for row in rows}
    assert [heights[number, "depth"] for number in range(4)] == [0, 1, 0, 1]
    assert [heights[number, GATE] for number in range(4)] == [0, coordinates.INACTIVE, 1, 0]
    last = [heights[number, "accuracy on\ndev (%)"] for number in range(4)]
    assert last == pytest.approx([0, 2 / 3, 1 / 3, 1])
    drawing = Drawing(chart)
    assert len([mark for mark in drawing.marks("line") if mark.get("stroke") == INK]) == 1
    assert "accuracy ondev (%)" in drawing.words  # in two lines
    assert "the thick one is trial 3, the best of them" in words(chart)
    assert "not active" in drawing.words


def test_the_distribution_says_which_share_is_as_good_or_worse() -> None:
    chart = distribution(TRIALS, ACCURACY)
    rows = chart.data.values
    stopped = {row["value"]: row["share"] for row in rows if row["kind"] == "stopped"}
    assert stopped == {50: 50, 80: 100}
    assert "Half of 4 trials are worse than 65.00; the best has 80.00" in words(chart)
    lower = TRIALS.assign(dev=[90.0, 80.0, 85.0, 70.0, NAN])
    worst_first = [row["value"] for row in distribution(lower, PERPLEXITY).data.values if row["kind"] == "stopped"]
    assert worst_first == [90, 70]


def test_a_map_has_a_point_for_each_config_hollow_where_there_is_no_score() -> None:
    places = pd.DataFrame({"trial": range(5), "x": [0.0, 1, 2, 3, 4], "y": [0.0, 1, 0, 1, 0]})
    drawing = Drawing(footprint(places, TRIALS, ACCURACY))
    filled = [mark for mark in drawing.marks("symbol") if mark.get("fill") not in (None, "none", "transparent")]
    assert (len(drawing.marks("symbol")), len(filled)) == (5, 4)


def test_an_axis_that_the_study_spaces_by_the_logarithm_is_drawn_so() -> None:
    domains: dict[str, Domain] = {RATE: Log(0.001, 0.1), DEPTH: Integer(1, 9), "width": Integer(1, 9, log=True)}
    domains |= {"few": Choice((0.001, 0.1)), "near": Choice((1, 2, 3)), "scale": Normal(0.0, 1.0, log=True)}
    assert logarithmic(domains) == {f"axis.{RATE}", "axis.few", "axis.width", "axis.scale"}
    rates = [0.001, 0.002, 0.004, 0.008, 0.016]
    trials = pd.DataFrame({"state": "completed", "dev": 0.5, "score": 0.5, RATE: rates}).rename_axis("trial")
    for log, ratio in (([RATE], 1), ([], 8)):
        lefts = [left for left, _ in drawn(slices.slices(trials, ACCURACY, [RATE], names=SHORT, log=log))]
        assert (lefts[4] - lefts[3]) / (lefts[1] - lefts[0]) == pytest.approx(ratio, abs=0.02)
        lines = coordinates.parallel_coordinates(trials, ACCURACY, [RATE], names=SHORT, log=log).layer[1].data.values
        heights = [row["height"] for row in sorted(lines, key=lambda row: row["trial"]) if row["axis"] == RATE]
        assert (heights[4] - heights[3]) / (heights[1] - heights[0]) == pytest.approx(ratio)


def test_a_scale_of_one_value_has_its_number_in_the_legend() -> None:
    """Vega writes NaN there, of two trials of one field, or of one score."""
    two = TRIALS.loc[[1]].assign(**{DEPTH: 3, GATE: "a"})
    places = pd.DataFrame({"trial": [1], "x": [0.0], "y": [0.0]})
    for chart in (means_over(two, ACCURACY, DEPTH, GATE, names=SHORT), footprint(places, two, ACCURACY)):
        written = Drawing(chart).words
        assert "70" in written
        assert not [word for word in written if "NaN" in word]


@pytest.mark.parametrize(
    ("seconds", "unit"), [(10, "seconds"), (50, "seconds"), (500, "minutes"), (50_000, "hours"), (500_000, "days")]
)
def test_times_are_written_in_the_unit_that_people_use(seconds: float, unit: str) -> None:
    trials = TRIALS.assign(seconds=[seconds * share for share in (0.5, 1.0, 0.7, 0.2, 0.1)])
    written = Drawing(score_against_cost(trials, ACCURACY)).words
    assert f"{unit} of training and evaluation" in written
    assert not [word for word in written if "e+" in word]


def test_agreement_has_a_field_for_each_two_numbers_of_epochs_that_are_known() -> None:
    frame = pd.DataFrame(
        {"one": [1, 1, 2, 2], "other": [1, 2, 1, 2], "n": [9, 4, 4, 4], "correlation": [1.0, 0.25, 0.25, NAN]}
    )
    drawing = Drawing(agreement(frame))
    assert len(drawing.marks("rect")) == 3
    assert drawing.words.count("+0.25") == 2
