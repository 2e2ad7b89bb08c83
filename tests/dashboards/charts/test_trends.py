"""The course of scores along an axis of numbers, as it is drawn."""

from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

from skipstack.dashboards.charts.drawing import words
from skipstack.dashboards.charts.theme import BLUE, INK, ORANGE, SERIES
from skipstack.dashboards.charts.trends import trends
from skipstack.data.tasks.measures import MEASURES
from tests.dashboards.charts.drawn import Drawing, place

ACCURACY, PERPLEXITY = MEASURES["accuracy"], MEASURES["perplexity"]
NUMBERS = (2, 4, 8, 16)


def frame_of(*lines: str, half: float | None = 0.05, numbers: tuple[float, ...] = NUMBERS) -> pd.DataFrame:
    """Each line falls by a tenth from one number to the next, and begins a tenth below the one before."""
    rows = [
        (number, line, value, None if half is None else value - half, None if half is None else value + half)
        for start, line in enumerate(lines)
        for step, number in enumerate(numbers)
        for value in [0.9 - 0.1 * start - 0.1 * step]
    ]
    return pd.DataFrame(rows, columns=["number", "line", "value", "low", "high"])


def drawn(frame: pd.DataFrame, measure: Any = ACCURACY, lines: str = "stack") -> tuple[Any, Drawing]:
    chart = trends(frame, measure, axis="distance", lines=lines, split="test")
    return chart, Drawing(chart)


def test_each_score_stands_over_its_number_on_its_interval() -> None:
    chart, drawing = drawn(frame_of("short", "long"))
    places = {colour: [place(mark) for mark in drawing.coloured("symbol", colour)] for colour in (INK, ORANGE)}
    assert {len(those) for those in places.values()} == {4}
    for line in places.values():
        lefts, tops = zip(*line, strict=True)
        steps = [b - a for a, b in pairwise(lefts)]
        assert steps == pytest.approx([steps[0]] * 3, abs=0.1)  # each number is twice the one before
        falls = [b - a for a, b in pairwise(tops)]
        assert falls == pytest.approx([falls[0]] * 3, abs=0.1)
        assert falls[0] > 0
    below = [long - short for (_, short), (_, long) in zip(places[INK], places[ORANGE], strict=True)]
    assert below == pytest.approx([places[INK][1][1] - places[INK][0][1]] * 4, abs=0.1)
    assert len(drawing.coloured("line", INK)) == len(drawing.coloured("line", ORANGE)) == 1
    rules = drawing.coloured("rule", INK)
    assert len(rules) == 4
    heights = [abs(float(rule.get("y2", 0))) for rule in rules]
    assert heights == pytest.approx([below[0]] * 4, abs=0.1)  # from 0.05 below to 0.05 above
    assert {"distance", "accuracy on test (%)", "short", "long", "2", "4", "8", "16"} <= set(drawing.words)
    assert words(chart) == (
        "accuracy by distance, a line for each value of stack. "
        "Points are means over seeds, upright rules 95 % intervals."
    )


def test_numbers_that_lie_close_together_are_spaced_as_they_are() -> None:
    _, drawing = drawn(frame_of("short", numbers=(1, 2, 4)))
    lefts = [place(mark)[0] for mark in drawing.marks("symbol")]
    assert lefts[2] - lefts[1] == pytest.approx(2 * (lefts[1] - lefts[0]), abs=0.1)


@pytest.mark.parametrize(
    "numbers", [(75, 150, 300), (1, 2, 3, 5, 7, 10), (0.25, 0.5, 0.75, 1), (0.0001, 0.00035, 0.01)]
)
def test_the_axis_is_labelled_with_the_numbers_themselves(numbers: tuple[float, ...]) -> None:
    _, drawing = drawn(frame_of("short", numbers=numbers))
    assert {f"{number:g}" for number in numbers} <= set(drawing.words)


def test_a_single_line_needs_no_legend_and_a_single_seed_has_no_interval() -> None:
    chart, drawing = drawn(frame_of("", half=None), lines="")
    assert not drawing.legend
    assert not drawing.marks("rule")
    assert words(chart) == "accuracy by distance. Points are means over seeds."


def test_of_many_lines_those_that_can_be_told_apart_are_drawn_and_it_is_said() -> None:
    names = [f"value {number}" for number in range(len(SERIES) + 2)]
    chart, drawing = drawn(frame_of(*names))
    assert "7 of 9 lines are drawn." in words(chart)
    assert names[6] in drawing.words
    assert names[7] not in drawing.words


def test_a_score_that_is_not_known_is_not_drawn_and_it_is_said() -> None:
    frame = frame_of("short")
    frame.loc[1, ["value", "low", "high"]] = float("nan")
    chart, drawing = drawn(frame)
    assert len(drawing.marks("symbol")) == 3
    assert "Not drawn: 1 point without a value." in words(chart)


def test_a_measure_has_its_own_unit() -> None:
    _, drawing = drawn(frame_of("short"), PERPLEXITY)
    assert "perplexity on test (lower is better)" in drawing.words
    assert BLUE not in drawing.svg


def test_a_perplexity_is_drawn_from_the_smallest_to_the_largest_and_not_between_powers_of_ten() -> None:
    frame = frame_of("short")
    frame[["value", "low", "high"]] *= 250  # from 138 to 238
    _, drawing = drawn(frame, PERPLEXITY)
    assert "200" in drawing.words
    assert not {"100", "300", "1000"} & set(drawing.words)


def test_an_interval_in_percent_is_drawn_as_far_as_a_percentage_can_be() -> None:
    """Scores are 90, 80, 70 and 60 %, each with an interval that reaches 70 points both ways."""
    _, drawing = drawn(frame_of("short", half=0.7))
    assert {"0", "100"} <= set(drawing.words)
    assert "120" not in drawing.words
    heights = sorted(abs(float(rule.get("y2", 0))) for rule in drawing.coloured("rule", INK))
    a_point = heights[0] / 80  # of the first, from 20 to 100
    assert heights == pytest.approx([80 * a_point, 90 * a_point, 100 * a_point, 100 * a_point], rel=1e-3)
