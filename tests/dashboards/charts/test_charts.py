"""Each picture, as it is drawn: every number has its mark in its place, and what is not drawn is said."""

import re
from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest

from skipstack.dashboards.charts import curves as curves_module
from skipstack.dashboards.charts.budgets import expected_best
from skipstack.dashboards.charts.costs import MOST, score_against_cost, score_against_objective
from skipstack.dashboards.charts.curves import learning_curves
from skipstack.dashboards.charts.drawing import without_words, words
from skipstack.dashboards.charts.effects import effects
from skipstack.dashboards.charts.footprint import footprint
from skipstack.dashboards.charts.importance import importance
from skipstack.dashboards.charts.pairs import pairs
from skipstack.dashboards.charts.papers import against_paper
from skipstack.dashboards.charts.survival import survival
from skipstack.dashboards.charts.theme import BLUE, INK, ORANGE, SERIES, whole_numbers
from skipstack.data.tasks.measures import MEASURES
from tests.dashboards.charts.drawn import Drawing, as_svg, place

ACCURACY, PERPLEXITY = MEASURES["accuracy"], MEASURES["perplexity"]
NAN = float("nan")


def ascending(numbers: list[float]) -> list[int]:
    return sorted(range(len(numbers)), key=lambda at: numbers[at])


def trials_of(**columns: list[Any]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    return frame.assign(score=frame["dev"]).rename_axis("trial")


EPOCHS = {0: [0.8, 0.9, 0.95], 1: [0.7, 0.6], 2: [0.5, NAN, 0.8], 3: [NAN]}
CURVES = pd.DataFrame(
    [
        (trial, epoch, seed, value + (0.01 if seed else -0.01))
        for trial, values in EPOCHS.items()
        for epoch, value in enumerate(values, start=1)
        for seed in (0, 1)
    ],
    columns=["trial", "epoch", "seed", "dev"],
)
TRIALS = trials_of(
    state=["completed", "stopped", "completed", "diverged"],
    dev=[0.95, 0.7, 0.8, NAN],
    seconds=[30.0, 10.0, 20.0, 5.0],
    parameters=[300, 100, 100, 50],
)


@pytest.mark.parametrize("numbers", [[0, 1], [0, 2], [1, 3], [2, 9], [0, 40]])
def test_axes_of_whole_numbers_have_no_ticks_between(numbers: list[float]) -> None:
    frame = pd.DataFrame({"x": numbers, "y": 1.0})
    x = alt.X("x:Q", axis=whole_numbers(numbers), scale=alt.Scale(zero=False))
    ticks = [text for text in Drawing(alt.Chart(frame).mark_point().encode(x=x)).words if text.isdigit()]
    assert len(ticks) == len(set(ticks))


def test_learning_curves_have_a_line_a_trial_and_a_cross_where_one_was_stopped() -> None:
    chart = learning_curves(CURVES, TRIALS, ACCURACY, rungs=[1, 2])
    drawing = Drawing(chart)
    crosses = [mark for mark in drawing.marks("symbol") if mark.get("stroke") == ORANGE]
    assert len(crosses) == 1
    ends = {mark.get("fill"): place(mark) for mark in drawing.marks("symbol") if mark.get("stroke") != ORANGE}
    assert set(ends) == {INK, BLUE}
    assert ends[INK][0] == ends[BLUE][0] == 2 * place(crosses[0])[0]  # epochs 3, 3 and 2, from 1 on
    heights = [ends[INK][1], ends[BLUE][1], place(crosses[0])[1]]
    assert heights[1] - heights[0] == pytest.approx(3 / 4 * (heights[2] - heights[1]), abs=0.1)  # 95, 80 and 60 %
    lines = [mark.get("stroke") for mark in drawing.marks("line")]
    assert sorted(filter(None, lines)) == sorted([INK, INK, BLUE, ORANGE])
    assert "accuracy on dev (%)" in drawing.words
    assert "1 of 4 trials were stopped early" in words(chart)
    assert "Not drawn: 2 epochs without a finite value, 1 trial without any." in words(chart)


def test_learning_curves_of_trials_of_which_none_has_a_score_have_no_best() -> None:
    drawing = Drawing(learning_curves(CURVES, TRIALS.assign(state="failed", score=np.nan), ACCURACY))
    assert "failed or diverged" in drawing.words
    assert "best trial" not in drawing.words


def test_while_no_trial_was_stopped_no_layer_of_learning_curves_is_empty() -> None:
    spec = learning_curves(CURVES, TRIALS.assign(state="completed"), ACCURACY, rungs=[1, 2]).to_dict()
    assert all(layers(spec, spec.get("datasets", {})))


def test_of_many_learning_curves_some_are_drawn_and_how_many_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves_module, "MOST", 5)
    scores = np.linspace(0.5, 0.9, 101).tolist()
    trials = trials_of(state=["completed"] * 101, dev=scores)
    curves = pd.DataFrame(
        [(trial, epoch, 0, score) for trial, score in enumerate(scores) for epoch in (1, 2)],
        columns=["trial", "epoch", "seed", "dev"],
    )
    chart = learning_curves(curves, trials, ACCURACY)
    assert "5 of 101 trials are drawn." in words(chart)
    heights = sorted(place(mark)[1] for mark in Drawing(chart).marks("symbol"))
    assert len(heights) == 5
    assert np.diff(heights) == pytest.approx(heights[1] - heights[0], abs=0.1)  # best, worst and evenly between


@pytest.mark.parametrize("measure", [ACCURACY, PERPLEXITY])
def test_the_front_is_what_enumeration_finds(measure: Any) -> None:
    draw = np.random.default_rng(3)
    trials = trials_of(
        state=["completed"] * 40,
        dev=draw.integers(1, 12, 40).astype(float).tolist(),
        seconds=draw.integers(1, 12, 40).astype(float).tolist(),
    )
    sign = 1 if measure is ACCURACY else -1
    points = {(cost, value) for cost, value in zip(trials["seconds"], trials["dev"], strict=True)}
    front = {
        (cost, value)
        for cost, value in points
        if not any(c <= cost and sign * v >= sign * value and (c, v) != (cost, value) for c, v in points)
    }
    drawing = Drawing(chart := score_against_cost(trials, measure))
    filled = [place(mark) for mark in drawing.coloured("symbol", INK)]
    assert len(filled) == len(front)
    assert len(drawing.marks("symbol")) == 40 + len(front)
    by_cost = [value for _, value in sorted(front)]
    assert ascending([-y for _, y in sorted(filled)]) == ascending(by_cost)
    assert words(chart).startswith(f"{len(front)} of 40 trials")


@pytest.mark.parametrize("measure", [ACCURACY, PERPLEXITY])
@pytest.mark.parametrize("larger", [True, False])
def test_the_front_with_an_objective_of_either_direction_is_what_enumeration_finds(measure: Any, larger: bool) -> None:
    draw = np.random.default_rng(5)
    values, sizes = (draw.integers(low, low + 12, 40).astype(float) for low in (1, -6))
    trials = trials_of(state=["completed"] * 40, dev=values.tolist()).assign(objective_size=sizes)
    sign, own = 1 if measure is ACCURACY else -1, 1 if larger else -1
    points = {(sign * value, own * size) for value, size in zip(values, sizes, strict=True)}
    front = {a for a in points if not any(b != a and b[0] >= a[0] and b[1] >= a[1] for b in points)}
    chart = score_against_objective(trials, measure, "objective_size", "size", larger_is_better=larger)
    drawing = Drawing(chart)
    filled = sorted(place(mark) for mark in drawing.coloured("symbol", INK))
    assert len(filled) == len(front)
    by_size = [sign * value for value, _ in sorted(front, key=lambda each: own * each[1])]
    assert ascending([-y for _, y in filled]) == ascending(by_size)
    assert words(chart).startswith(
        f"{len(front)} of 40 trials are beaten by none that has {'more' if larger else 'less'}"
    )


def test_trials_without_a_score_or_a_cost_and_those_beyond_the_most_are_counted() -> None:
    many = MOST + 500
    scores = [0.9, NAN, *np.linspace(0.5, 0.1, many - 2).tolist()]  # the cheapest is the best
    chart = score_against_cost(
        trials_of(state=["completed"] * many, dev=scores, seconds=[0.0, 1.0, *range(1, many - 1)]), ACCURACY
    )
    assert words(chart).startswith("1 of 1,498 trials")
    assert words(chart).endswith("749 of 1,498 trials are drawn. Not drawn: 2 trials without a score or a cost.")
    assert len(Drawing(chart).marks("symbol")) == 749 + 1


def test_marked_gains_are_filled_open_ones_hollow_and_exploratory_effects_are_diamonds() -> None:
    frame = pd.DataFrame(
        {
            "axis": ["a", "a", "b", "b", "b"],
            "value": ["1", "2", "1", "none", "x"],
            "effect": [-0.02, 0.01, 0.03, 0.005, NAN],
            "low": [-0.03, -0.01, 0.01, NAN, NAN],
            "high": [-0.01, 0.02, 0.04, NAN, NAN],
            "marked": [True, False, False, True, False],
        }
    )
    drawing = Drawing(chart := effects(frame, ACCURACY))
    symbols = drawing.marks("symbol")
    drawn = sorted((mark.get("stroke"), mark.get("fill", "none")) for mark in symbols)
    assert drawn == [(BLUE, BLUE)] * 2 + [(INK, "none")] * 2
    assert len(drawing.coloured("rule", BLUE)) == 1
    lowest, highest = min(symbols, key=place), max(symbols, key=place)
    assert [lowest.get("fill"), highest.get("fill")] == [BLUE, None]
    assert words(chart) == "Of 4 changes, 1 helps and 1 harms beyond chance. Not drawn: 1 value without an effect."
    assert "gain in accuracy (points; + helps)" in drawing.words
    perplexity = Drawing(effects(frame, PERPLEXITY))
    assert "gain in perplexity (+ helps, and lowers it)" in perplexity.words
    explored = frame.drop(columns="marked")
    looked = Drawing(chart := effects(explored, ACCURACY, apart=["a", "b"]))
    assert "effect on accuracy (points)" in looked.words
    assert looked.coloured("rule", BLUE) == []
    assert words(chart).startswith("The largest exploratory effect: b 1, +3.00 points.")
    assert words(effects(explored, ACCURACY, apart=["a"])).startswith(
        "The largest exploratory effect: a 1, -2.00 points."
    )
    assert words(effects(explored, ACCURACY)).startswith("Effects of values; no axis stands out.")
    assert {mark.get("stroke") for mark in looked.marks("symbol")} == {ORANGE}


def test_axes_stand_in_their_order_and_the_most_important_is_named_if_it_stands_out() -> None:
    frame = pd.DataFrame(
        [("a", 0.1, 0.2, False), ("b", 0.7, 0.1, True), ("c", 0.2, 0.1, False), ("d", NAN, NAN, False)],
        columns=["axis", "fanova", "by_chance", "stands_out"],
    )
    drawing = Drawing(chart := importance(frame))
    assert words(chart).startswith("In the search, b is shown to matter. 1 of 3 axes stands out.")
    overlapping = words(importance(frame.assign(fanova=[0.4, 0.7, 0.2, NAN])))
    assert ["Shares overlap: " in each for each in (words(chart), overlapping)] == [False, True]
    points = [(place(mark), mark.get("fill")) for mark in drawing.marks("symbol")]
    assert len(points) == 2 * 3
    own = sorted((y, x) for (x, y), colour in points if colour == BLUE)
    assert ascending([x for _, x in own]) == [0, 2, 1]
    assert [word for word in drawing.words if word in "abc"] == ["a", "b", "c"]
    assert words(importance(frame.assign(stands_out=False))).startswith(
        "In the search alone, no axis is shown to matter"
    )


def test_pairs_have_a_field_a_pair_of_values_with_its_number() -> None:
    frame = pd.DataFrame(
        [("a", "1", "b", "x", 0.012, 3), ("a", "2", "b", "x", -0.004, 1_200), ("a", "2", "b", "y", NAN, 0)],
        columns=["axis_one", "value_one", "axis_two", "value_two", "interaction", "n"],
    )
    drawing = Drawing(chart := pairs(frame, ACCURACY))
    assert {"+1.20", "−0.40", "3", "1,200"} <= set(drawing.words)
    assert len([mark for mark in drawing.marks("rect") if mark.get("fill")]) == 2
    many = pd.concat([frame.assign(axis_two=f"b{at}", interaction=at / 100) for at in range(9)])
    assert "6 of 9 pairs of axes are drawn." in words(pairs(many, ACCURACY))
    assert "of 1 pairs" not in words(chart)


def test_survival_says_how_many_came_and_how_many_were_stopped() -> None:
    frame = pd.DataFrame({"rung": [1, 3, 9], "n": [90, 30, 10], "stopped": [60, 20, 0], "correlation": [0.5, 0.8, NAN]})
    drawing = Drawing(chart := survival(frame))
    heights = [_height(mark) for mark in drawing.coloured("rect", BLUE) if _height(mark)]
    stopped = [_height(mark) for mark in drawing.coloured("rect", ORANGE) if _height(mark)]
    assert np.array(heights[:3]) / heights[2] == pytest.approx([3, 1, 1], rel=0.01)
    assert np.array(stopped[:2]) / heights[2] == pytest.approx([6, 2], rel=0.01)
    assert {"90", "30", "10", "+0.50", "+0.80", "rung (epochs)"} <= set(drawing.words)
    assert words(chart).startswith("80 of 90 trials were stopped at a rung.")
    silent = Drawing(survival(frame.assign(correlation=NAN)))
    assert "rank correlation" not in silent.words
    assert "rung (epochs)" in silent.words


def _height(mark: Any) -> float:
    """That of a bar, whose path is ``M x,y h width v height ...``."""
    found = re.search(r"v(-?[\d.]+)h", mark.get("d", ""))
    return abs(float(found[1])) if found else 0.0


def test_a_papers_gains_stand_beside_ours() -> None:
    frame = pd.DataFrame(
        {
            "row": ["base", "same", "other", "ours alone", "neither"],
            "paper": [0.0, 0.01, -0.01, NAN, NAN],
            "ours": [0.0, 0.02, 0.005, 0.001, NAN],
            "low": [NAN, 0.01, NAN, NAN, NAN],
            "high": [NAN, 0.03, NAN, NAN, NAN],
        }
    )
    drawing = Drawing(chart := against_paper(frame, ACCURACY, split="test"))
    by_colour = [mark.get("stroke") for mark in drawing.marks("symbol")]
    assert sorted(filter(None, by_colour)) == sorted([INK, INK, BLUE, ORANGE, ORANGE])
    assert len(drawing.coloured("rule", BLUE)) == 1
    assert words(chart).startswith("1 of 2 gains have the sign of the paper's.")
    assert words(chart).endswith("Not drawn: 1 row without a gain.")
    assert "gain in accuracy on test (points; + helps)" in drawing.words


def test_studies_of_unequal_size_share_a_picture() -> None:
    rows = [
        (study, k, 0.9 + k / 1000 * at)
        for at, study in enumerate(("one", "two", "three"))
        for k in range(1, 10 * (at + 1))
    ]
    drawing = Drawing(expected_best(pd.DataFrame(rows, columns=["study", "trials", "expected_best"]), ACCURACY))
    assert {mark.get("stroke") for mark in drawing.marks("line")} == {colour for colour, *_ in SERIES[:3]}
    ends = sorted(place(mark) for mark in drawing.marks("symbol"))
    assert len(ends) == 3
    assert [x / ends[-1][0] for x, _ in ends] == pytest.approx([9 / 29, 19 / 29, 1], abs=0.05)
    assert {"one", "two", "three"} <= set(drawing.words)
    assert len({mark.get("d") for mark in drawing.marks("symbol")}) == 3
    lines, legend = (
        [mark.get("stroke-dasharray") for mark in marks] for marks in (drawing.marks("line"), drawing.legend)
    )
    assert sorted(lines, key=str) == sorted(legend, key=str)
    assert len(set(lines)) == 3
    spent = [(study, k, 100 * k if study == "one" else k, best) for study, k, best in rows]
    frame = pd.DataFrame(spent, columns=["study", "trials", "epochs", "expected_best"])
    drawing = Drawing(expected_best(frame, ACCURACY, cost="epochs"))
    ends = {mark.get("fill"): place(mark)[0] for mark in drawing.marks("symbol")}
    assert [ends[colour] / ends[INK] for colour, *_ in SERIES[1:3]] == pytest.approx([19 / 900, 29 / 900], abs=0.01)
    assert "epochs" in drawing.words
    alone = Drawing(expected_best(pd.DataFrame({"trials": [1, 2], "expected_best": [0.9, 0.95]}), ACCURACY))
    assert len(alone.marks("line")) == 1


def layers(chart: dict[str, Any], named: dict[str, Any], rows: Any = None) -> Iterator[list[dict[str, Any]]]:
    """The rows that each layer with a field draws, of data that may be ``named`` once for all."""
    data = chart.get("data", {})
    rows = data.get("values", named.get(data.get("name"), rows))
    for inner in (*chart.get("vconcat", ()), *chart.get("layer", ())):
        yield from layers(inner, named, rows)
    if any("field" in channel for channel in chart.get("encoding", {}).values()):
        kept = rows
        for transform in chart.get("transform", ()):
            if of_kind := re.fullmatch(r"datum\.kind == '(.*)'", transform["filter"]):
                kept = [row for row in kept if row["kind"] == of_kind[1]]
                continue
            negated, field = re.fullmatch(r"(!?)isValid\(datum\.(\w+)\)", transform["filter"]).groups()  # type: ignore[union-attr]
            kept = [row for row in kept if (row[field] is None) == bool(negated)]
        yield kept


@pytest.mark.first(1)
@pytest.mark.parametrize("known", [[0.1, 0.2], [0.1, NAN], [NAN, NAN]])
def test_no_layer_is_empty_for_its_scales_would_have_no_extent(known: list[float]) -> None:
    ends = {"low": known, "high": known}
    values = pd.DataFrame({"axis": ["a", "b"], "value": ["1", "2"], "effect": [0.1, 0.2], **ends})
    gains = pd.DataFrame({"row": ["1", "2"], "paper": known[::-1], "ours": [0.1, 0.2], **ends})
    places = pd.DataFrame({"trial": [0, 1], "x": [0.1, 0.2], "y": [0.1, 0.2]})
    for chart in (
        effects(values, ACCURACY),
        against_paper(gains, ACCURACY),
        footprint(places, pd.DataFrame({"dev": known}), ACCURACY),
    ):
        spec = chart.to_dict()
        assert (found := list(layers(spec, spec.get("datasets", {}))))
        assert all(found)


NAMES = ("</script><b>", "__proto__", "constructor", "a.b[0]", "\\n", "datum.value", "'\"&", "%s {{x}}", "中文", "null")


def test_an_interval_that_dwarfs_the_others_ends_in_an_arrow_and_long_labels_are_whole() -> None:
    """The interval of a mean over two corpora may be a hundred times that of each gain."""
    long = "a.very.long.path.of.an.axis.learning_rate: from 0.000001 to 0.000002"
    frame = pd.DataFrame(
        {
            "axis": "one change",
            "value": ["sure", long, "wide"],
            "effect": [0.1, 0.02, 0.05],
            "low": [0.09, -0.01, -9.0],
            "high": [0.11, 0.05, 9.1],
            "marked": [True, False, False],
        }
    )
    drawing = Drawing(chart := effects(frame, ACCURACY))
    (sure,) = drawing.coloured("rule", BLUE)
    wide = max(abs(float(mark.get("x2", 0))) for mark in drawing.coloured("rule", INK))
    assert 380 / 50 < abs(float(sure.get("x2", 0))) < wide < 380
    assert len(drawing.marks("symbol")) == 3 + 2
    assert words(chart).endswith("An arrow: the interval goes on.")
    assert long.replace(" ", "") in [word.replace(" ", "") for word in drawing.words]  # in several lines
    assert not [word for word in drawing.words if "…" in word]


def test_names_are_drawn_as_they_are() -> None:
    frame = pd.DataFrame({"axis": ["a.b", "</script>"] * 5, "value": NAMES, "effect": np.linspace(-0.1, 0.1, 10)})
    drawing = Drawing(effects(frame, ACCURACY))
    assert set(NAMES) <= set(drawing.words)
    assert len(drawing.marks("symbol")) == len(NAMES)
    assert "</script>" in drawing.words
    shares = pd.DataFrame({"axis": NAMES, "fanova": 0.5, "by_chance": 0.1, "stands_out": True})
    assert set(NAMES) <= set(Drawing(importance(shares)).words)
    rows = pd.DataFrame({"row": NAMES, "paper": 0.1, "ours": 0.2})
    assert set(NAMES) <= set(Drawing(against_paper(rows, ACCURACY)).words)
    both = pd.DataFrame({"axis_one": "a", "value_one": NAMES, "axis_two": "b", "value_two": NAMES, "interaction": 0.1})
    assert set(NAMES) <= set(Drawing(pairs(both.assign(n=1), ACCURACY)).words)
    studies = pd.DataFrame({"study": NAMES, "trials": range(10), "expected_best": 0.5})
    assert set(NAMES) <= set(Drawing(expected_best(studies, ACCURACY)).words)


def test_characters_that_no_drawing_has_are_shown_by_their_numbers() -> None:
    """vl-convert would end the process."""
    bad = "a\x1b\x00\u202e\uffffb"
    rows = pd.DataFrame({"axis": [bad, "c"], "fanova": [0.6, 0.5], "by_chance": 0.1, "stands_out": False})
    drawing = Drawing(importance(rows))
    assert drawing.words.count(r"a\x1b\x00\u202e\uffffb") == 1


def test_a_picture_is_the_same_each_time_and_needs_nothing_from_elsewhere() -> None:
    chart = learning_curves(CURVES, TRIALS, ACCURACY)
    assert as_svg(chart) == as_svg(chart)
    assert set(re.findall(r"https?://[\w./]+", as_svg(chart))) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert '"url"' not in chart.to_json()
    assert not {"Learning", "trials"} & {word.split()[0] for word in Drawing(without_words(chart)).words}
    assert chart.title.text[0].startswith("Learning curves")
