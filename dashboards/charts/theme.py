"""The common look of all charts. Marks and lines with different meanings differ in colour, and in shape or dash.

The colours can be distinguished with any kind of colour vision, and have a contrast of 3 to a white page and to a dark
one. The colours of each chart's named looks, and the first four of ``SERIES``, also differ when printed in grey.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

INK, PAPER, LINE = "#1f2328", "#ffffff", "#d0d7de"
"""The colours of text and axes, of the background and of grid lines. HTML pages replace them in dark mode."""

BLUE, ORANGE, PURPLE, GREEN, SKY, VERMILLION = "#1861b5", "#e2762c", "#a1698a", "#26a55f", "#2398f2", "#ce3232"
RED: Final = "#7a2e1d"
"""The colours of marks. The hues are about those of Okabe and Ito, "Color Universal Design" (2008)."""

WORST, BEST = ORANGE, BLUE
"""The ends of a scale of quality. Between them, colours become darker all the way, so that grey shows the order."""

WIDTH: Final = 380
"""The width of a chart's plot area in pixels. With its axes, the chart is then readable in a printed column."""

FONTS: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The fonts of charts. The first is built into vl-convert. The letters of the next two have the same widths, so that
text also fits in a browser that uses one of these two.
"""

FEW: Final = 6
"""An axis of whole numbers has a tick at each number if the range of the numbers is smaller than this."""

LETTERS: Final = 72
"""The maximum number of characters in a line of a title."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of one kind of marks or lines. ``name``: its entry in the legend. ``colour``, ``shape``: the colour and
    shape of marks. ``dash``: the lengths of a line's strokes and gaps, in pixels. ``hollow``: whether only the outline
    of marks is drawn.
    """

    name: str
    colour: str
    shape: str = "circle"
    dash: tuple[int, ...] = (1, 0)
    hollow: bool = False


SERIES: Final = (
    (INK, "circle", (1, 0)),
    (ORANGE, "square", (6, 3)),
    (BLUE, "triangle-up", (2, 2)),
    (PURPLE, "diamond", (8, 2, 2, 2)),
    (GREEN, "cross", (4, 1)),
    (SKY, "triangle-down", (1, 4)),
    (VERMILLION, "triangle-left", (12, 3)),
)
"""The colours, shapes and dashes of the first, second, ... of several series without an order, such as studies."""

CONFIG: Final[Mapping[str, Any]] = {
    "background": PAPER,
    "font": FONTS,
    "padding": {"left": 20, "right": 10, "top": 5, "bottom": 5},  # space for fonts with wider letters
    "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": 240},
    "title": {
        "color": INK,
        "subtitleColor": INK,
        "anchor": "start",
        "fontSize": 13,
        "subtitleFontSize": 12,
        "offset": 8,
    },
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 200,
        "labelFlush": False,
        "labelSeparation": 8,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "orient": "bottom",
        "title": None,
        "columns": 2,
        "labelLimit": 300,
        "symbolSize": 80,
        "symbolOpacity": 1,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
    },
    "mark": {"opacity": 1},  # by default, points are translucent, and too pale
    "text": {"color": INK, "fontSize": 11},
    "rule": {"color": INK},
    "aria": False,  # descriptions of each mark would fill most of the file; the picture as a whole has a description
}
"""The Vega-Lite config of all charts."""


def finished(chart: Any, title: str, *sentences: str) -> Any:
    """Add a title, the sentences below the title and the common style to a chart. Empty sentences are left out."""
    lines = [line for sentence in sentences if sentence for line in textwrap.wrap(sentence, LETTERS)]
    words = alt.TitleParams(text=textwrap.wrap(title, LETTERS - 6), subtitle=lines)
    return chart.properties(title=words).configure(**CONFIG)


def data(frame: pd.DataFrame) -> alt.InlineData:
    """Convert the rows of a frame into the data of a chart. Missing and infinite values become null."""
    known = frame.astype(object).where(frame.notna() & ~frame.isin([float("inf"), float("-inf")]), None)
    # A tuple, since Altair copies the rows of a list whenever a chart becomes part of another.
    return alt.InlineData(values=tuple(dict(zip(known.columns, row, strict=True)) for row in known.to_numpy()))


def thinned(rows: pd.DataFrame, most: int, always: "pd.Series[bool]") -> pd.DataFrame:
    """Return every n-th row, so that about ``most`` remain, and all rows for which ``always`` is True."""
    every = max(1, -(-len(rows) // most))
    kept: pd.DataFrame = rows.loc[(np.arange(len(rows)) % every == 0) | always.to_numpy()]
    return kept


def evenly(count: int, most: int) -> np.ndarray[Any, Any]:
    """The positions of up to ``most`` of ``count`` rows, evenly spaced from the first to the last."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))


def whole_numbers(numbers: Iterable[float]) -> alt.Axis:
    """An axis for ``numbers`` whose ticks are whole numbers. If their range is small, each whole number in it has a
    tick, since Vega would also put ticks between them.
    """
    known = [each for each in numbers if np.isfinite(each)] or [0.0]
    least, most = int(np.floor(min(known))), int(np.ceil(max(known)))
    few: dict[str, Any] = {"values": list(range(least, most + 1))} if most - least < FEW else {"tickMinStep": 1}
    return alt.Axis(format=",d", **few)


def gradient(values: "pd.Series[Any]") -> alt.Legend:
    """The legend of a colour scale for ``values``. If all values are equal, the legend shows this number alone."""
    known = sorted(set(values.dropna().tolist()))
    alone: dict[str, Any] = {"values": known, "format": ".4~f"} if len(known) == 1 else {}
    return alt.Legend(gradientLength=200, **alone)


def named(names: Iterable[str]) -> alt.Scale:
    """The scale of an axis with these names, in this order. An axis's ``sort`` option would fail for a name that is a
    property of JavaScript objects, such as ``constructor``.
    """
    return alt.Scale(domain=list(dict.fromkeys(names)))


def looks(names: Sequence[str]) -> tuple[Look, ...]:
    """Give a look to each of several series without an order. The looks repeat after the seventh series."""
    return tuple(Look(name, *SERIES[place % len(SERIES)]) for place, name in enumerate(names))


def present(of: Sequence[Look], names: Iterable[str]) -> list[Look]:
    """The looks whose names are among ``names``, in the order of ``of``. They form a chart's legend."""
    there = set(names)
    return [look for look in of if look.name in there]


def colours(of: Sequence[Look]) -> alt.Scale:
    """The scale that maps the names of looks to their colours."""
    return alt.Scale(domain=[look.name for look in of], range=[look.colour for look in of])


def shapes(of: Sequence[Look]) -> alt.Scale:
    """The scale that maps the names of looks to their shapes."""
    return alt.Scale(domain=[look.name for look in of], range=[look.shape for look in of])


def dashes(of: Sequence[Look]) -> alt.Scale:
    """The scale that maps the names of looks to their dashes."""
    return alt.Scale(domain=[look.name for look in of], range=[list(look.dash) for look in of])


def strokes(of: Sequence[Look], field: str = "kind:N", *, series: bool = False) -> dict[str, Any]:
    """The channels color and strokeDash for lines with these looks. The channels share a legend. ``field``: the column
    with the names of the looks. ``series``: whether the lines are series (``looks``), whose legend has longer lines,
    and is left out if there is a single one.
    """
    size, alone = 1600 if series else 400, series and len(of) < 2
    legend = None if alone else alt.Legend(symbolType="stroke", symbolStrokeWidth=2, symbolSize=size)
    return {
        "color": alt.Color(field, scale=colours(of), legend=legend),
        "strokeDash": alt.StrokeDash(field, scale=dashes(of), legend=legend),
    }


def marks(of: Sequence[Look], field: str = "kind:N") -> dict[str, Any]:
    """The channels color and shape for marks with these looks. ``field``: the column with the names of the looks."""
    return {"color": alt.Color(field, scale=colours(of)), "shape": alt.Shape(field, scale=shapes(of))}


def symbols(of: Sequence[Look], *, columns: int = 2) -> dict[str, Any]:
    """The channels stroke, fill and shape for marks whose column ``kind`` has the names of these looks. The channels
    share a legend. ``columns``: the number of columns of the legend.
    """
    legend = alt.Legend(columns=columns)
    names = [look.name for look in of]
    fills = alt.Scale(domain=names, range=["transparent" if look.hollow else look.colour for look in of])
    return {
        "stroke": alt.Stroke("kind:N", scale=colours(of), title=None, legend=legend),
        "fill": alt.Fill("kind:N", scale=fills, title=None, legend=legend),
        "shape": alt.Shape("kind:N", scale=shapes(of), title=None, legend=legend),
    }
