"""The course of scores along an axis of numbers: every trial that is trained to its end, in its place."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from skipstack.search.analysis.confirmation.trends import trends_of
from skipstack.search.ledger.events import Event
from skipstack.search.statistics.estimates import over_seeds
from skipstack.search.study.config import StudyConfig
from tests.search.made_up import DEPTH, GATE, HIDDEN, ended, measured, proposed, record_of, reported, study

NUMBERS: dict[str, Any] = {
    GATE: {"named": {"open": "none", "gated": "sigmoid_below"}},
    HIDDEN: {"choice": [32, 8, 16]},
}


def grid(axes: Mapping[str, Any] = NUMBERS, **search: Any) -> StudyConfig:
    return study(dict(axes), **{"proposer": "grid", "scheduler": "none", "seeds": 3, **search})


def scores(hidden: int, gate: str) -> list[float]:
    middle = 0.5 + hidden / 100 + (0.05 if gate == "none" else 0)
    return [middle - 0.01, middle, middle + 0.02]


def points(axes: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


GRID = points({GATE: ["none", "sigmoid_below"], HIDDEN: [32, 8, 16]})


def events(config: StudyConfig, tried: list[dict[str, Any]]) -> list[Event]:
    made: list[Event] = []
    for number, point in enumerate(tried):
        own = scores(point[HIDDEN], point.get(GATE, "sigmoid_below"))
        made += [proposed(config, number, point, seeds=(0, 1, 2)), reported(number, 1, *own), ended(number)]
        made += [measured(number, *own)]
    return made


def test_each_value_of_the_other_axis_is_a_line_and_the_numbers_ascend() -> None:
    (found,) = trends_of(record_of(grid(), *events(grid(), GRID)))
    assert (found.axis, found.lines, found.split) == (HIDDEN, GATE, "test")
    assert [(each.line, each.number) for each in found.reached] == [
        *(("open", float(hidden)) for hidden in (8, 16, 32)),
        *(("gated", float(hidden)) for hidden in (8, 16, 32)),
    ]
    for each in found.reached:
        gate = "none" if each.line == "open" else "sigmoid_below"
        assert each.score == over_seeds(scores(int(each.number), gate))
        assert each.score.value == pytest.approx(np.mean(scores(int(each.number), gate)))
        assert each.score.low is not None


def test_what_is_not_trained_to_its_end_is_left_out() -> None:
    some = events(grid(), GRID)
    some.remove(ended(4))
    (found,) = trends_of(record_of(grid(), *some[:-4]))
    assert [(each.line, each.number) for each in found.reached] == [
        ("open", 8),
        ("open", 16),
        ("open", 32),
        ("gated", 32),
    ]


def test_further_axes_stand_at_the_base_and_the_longest_gives_the_lines() -> None:
    axes = {**NUMBERS, DEPTH: {"choice": [1, 3]}, "model.stack.join": {"choice": ["top", "each_layer"]}}
    values = {GATE: ["none", "sigmoid_below"], HIDDEN: [32, 8, 16], DEPTH: [1, 3], "model.stack.join": ["top"]}
    (found,) = trends_of(record_of(grid(axes), *events(grid(axes), points(values))))
    assert (found.axis, found.lines) == (HIDDEN, GATE)
    assert len(found.reached) == 6  # of depth 3, as the base is


def test_a_grid_of_one_axis_is_a_single_line() -> None:
    axes = {HIDDEN: NUMBERS[HIDDEN]}
    (found,) = trends_of(record_of(grid(axes), *events(grid(axes), points({HIDDEN: [32, 8, 16]}))))
    assert found.lines is None
    assert {each.line for each in found.reached} == {""}


WALK = grid({**NUMBERS, DEPTH: {"choice": [5, 1, 3]}}, proposer="one_at_a_time")


def walked() -> list[Event]:
    base = {GATE: "sigmoid_below", HIDDEN: 16, DEPTH: 3}
    changes = ({}, {GATE: "none"}, {HIDDEN: 32}, {HIDDEN: 8}, {DEPTH: 1})
    return events(WALK, [base | change for change in changes])


def test_a_study_that_changes_one_axis_at_a_time_has_a_course_along_each_axis_of_numbers() -> None:
    hidden, depth = trends_of(record_of(WALK, *walked()))
    assert [(each.axis, each.lines, each.split) for each in (hidden, depth)] == [
        (HIDDEN, None, "test"),
        (DEPTH, None, "test"),
    ]
    assert [(each.number, each.line, each.score) for each in hidden.reached] == [
        (number, "", over_seeds(scores(number, "sigmoid_below"))) for number in (8, 16, 32)
    ]
    assert [each.number for each in depth.reached] == [1, 3], "the base is 3, and 5 was not tried"


@pytest.mark.parametrize(
    ("axes", "search", "tried"),
    [
        (NUMBERS, {"proposer": "random"}, GRID),
        (NUMBERS, {"scheduler": {"kind": "asha", "grace": 1, "reduction": 2}}, GRID),
        ({**NUMBERS, HIDDEN: {"choice": [8, 16]}}, {}, [point for point in GRID if point[HIDDEN] < 32]),
        (NUMBERS, {}, GRID[:1]),
        (NUMBERS, {}, []),
    ],
)
def test_other_studies_have_none(axes: dict[str, Any], search: dict[str, Any], tried: list[dict[str, Any]]) -> None:
    config = grid(axes, **search)
    assert trends_of(record_of(config, *events(config, tried))) == ()
