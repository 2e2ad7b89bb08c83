"""What pictures tell apart by colour is told apart by everyone, and in grey."""

from collections.abc import Sequence
from itertools import combinations

import altair as alt
import pandas as pd
import pytest

from skipstack.dashboards.charts import curves, effects, papers, states, survival, timeline
from skipstack.dashboards.charts.heat_map import STRONGEST
from skipstack.dashboards.charts.theme import BLUE, ORANGE, SERIES, WORST, Look, data, finished
from skipstack.dashboards.formats.style import COLOURS
from tests.dashboards.charts.drawn import Drawing
from tests.oracles.seeing import KINDS, contrast, difference, difference_in_grey, seen

WHITE, DARK = "#ffffff", "#0d1117"
"""What lies behind a picture."""


def test_the_oracle_sees_what_is_published() -> None:
    assert seen("#ffffff") == pytest.approx([100, 0, 0], abs=0.02)
    assert seen("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert difference("#d55e00", "#009e73", "deuteranopia") < 0.6 * difference("#d55e00", "#009e73")


@pytest.mark.parametrize("looks", [module.LOOKS for module in (curves, effects, papers, states, survival, timeline)])
def test_the_kinds_of_a_picture_differ_for_everyone_and_in_grey(looks: Sequence[Look]) -> None:
    for one, other in combinations(looks, 2):
        assert difference_in_grey(one.colour, other.colour) > 9, (one, other)
        assert min(difference(one.colour, other.colour, kind) for kind in KINDS) > 15, (one, other)


def test_series_differ_in_shape_and_dash_and_the_first_four_in_grey_too() -> None:
    for part in zip(*SERIES, strict=True):
        assert len(set(part)) == len(SERIES)
    for one, other in combinations(SERIES, 2):
        assert min(difference(one[0], other[0], kind) for kind in KINDS) > 15
    for one, other in combinations(SERIES[:4], 2):
        assert difference_in_grey(one[0], other[0]) > 9


def test_every_colour_stands_out_from_a_light_page_and_from_a_dark_one() -> None:
    for colour in (WORST, *(colour for colour, *_ in SERIES[1:])):
        assert min(contrast(colour, WHITE), contrast(colour, DARK)) > 3
    assert contrast(SERIES[0][0], WHITE) > 12


def test_points_are_drawn_in_full_colour_so_that_the_contrast_holds() -> None:
    points = alt.Chart(data(pd.DataFrame({"at": [1, 2]}))).mark_point(color=ORANGE).encode(x="at:Q")
    marks = Drawing(finished(points, "Points")).marks("symbol")
    assert [(mark.get("stroke"), mark.get("opacity", "1")) for mark in marks] == [(ORANGE, "1")] * 2


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("colours", [COLOURS["mark"], (ORANGE, ORANGE)])
def test_the_numbers_in_the_cells_of_a_heat_map_stand_out(colours: tuple[str, str], theme: int) -> None:
    assert COLOURS["mark"][0] == BLUE
    colour, ink, paper = (both[theme] for both in (colours, COLOURS["ink"], COLOURS["paper"]))
    parts = ((int(colour[place : place + 2], 16), int(paper[place : place + 2], 16)) for place in (1, 3, 5))
    cell = "#" + "".join(f"{round(STRONGEST * own + (1 - STRONGEST) * behind):02x}" for own, behind in parts)
    assert contrast(ink, cell) > 4.5
