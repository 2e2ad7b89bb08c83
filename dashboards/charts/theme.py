"""The common look of all charts. Colour, shape and dash distinguish things together, never colour alone.

The colours are those of Okabe and Ito, "Color Universal Design" (2008), distinguishable with any kind of colour vision.
Colours with different meanings in one chart also differ in grey.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import pandas as pd

INK, PAPER, LINE = "#1f2328", "#ffffff", "#d0d7de"
"""Colours of text and axes, of the background and of the grid. An HTML page replaces them in dark mode."""

BLUE, ORANGE, PURPLE, GREEN, SKY, VERMILLION = "#0072b2", "#e69f00", "#cc79a7", "#009e73", "#56b4e9", "#d55e00"

WIDTH: Final = 380
"""The width of the plot area in pixels: with axes and 12-pixel letters, it is readable in a column of print."""

FONTS: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first font is vl-convert's own; the next two are as wide, so that text fits where they replace it."""

LETTERS: Final = 72
"""The most characters of a line of a title."""


@dataclass(frozen=True, slots=True)
class Look:
    """The name of a thing in the legend, and its look.

    ``dash``: lengths of strokes and gaps, in pixels; ``hollow``: whether only the outline of its shape is drawn.
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
"""Colour, shape and dash of unordered things, one after another."""

CONFIG: Final[Mapping[str, Any]] = {
    "background": PAPER,
    "font": FONTS,
    "padding": {"left": 20, "right": 10, "top": 5, "bottom": 5},  # room for wider fonts
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
    "header": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "labelLimit": WIDTH,
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
    "text": {"color": INK, "fontSize": 11},
    "rule": {"color": INK},
    "aria": False,  # descriptions of each mark would fill most of the file; the picture has one as a whole
}


def finished(chart: Any, title: str, *sentences: str) -> Any:
    """The chart with its title, the sentences below it, and the common style."""
    lines = [line for sentence in sentences if sentence for line in textwrap.wrap(sentence, LETTERS)]
    words = alt.TitleParams(text=textwrap.wrap(title, LETTERS - 6), subtitle=lines)
    return chart.properties(title=words).configure(**CONFIG)


def data(frame: pd.DataFrame) -> alt.InlineData:
    """The rows of a frame as the data of a chart; unknown and infinite values become null."""
    known = frame.astype(object).where(frame.notna() & ~frame.isin([float("inf"), float("-inf")]), None)
    return alt.InlineData(values=[dict(zip(known.columns, row, strict=True)) for row in known.to_numpy()])


def gradient(values: "pd.Series[Any]") -> alt.Legend:
    """The legend of a scale of colours; if all values are equal, it shows that number alone."""
    known = sorted(set(values.dropna().tolist()))
    alone: dict[str, Any] = {"values": known, "format": ".4~f"} if len(known) == 1 else {}
    return alt.Legend(gradientLength=200, **alone)


def named(names: Iterable[str]) -> alt.Scale:
    """The scale of these names, in their order; ``sort`` of an axis would fail where one is called ``constructor``."""
    return alt.Scale(domain=list(dict.fromkeys(names)))


def looks(names: Sequence[str]) -> tuple[Look, ...]:
    """A look for each of the unordered names; they repeat after seven."""
    return tuple(Look(name, *SERIES[place % len(SERIES)]) for place, name in enumerate(names))


def colours(of: Sequence[Look]) -> alt.Scale:
    """The scale from names to colours."""
    return alt.Scale(domain=[look.name for look in of], range=[look.colour for look in of])


def shapes(of: Sequence[Look]) -> alt.Scale:
    """The scale from names to shapes."""
    return alt.Scale(domain=[look.name for look in of], range=[look.shape for look in of])


def dashes(of: Sequence[Look]) -> alt.Scale:
    """The scale from names to dashes."""
    return alt.Scale(domain=[look.name for look in of], range=[list(look.dash) for look in of])


def symbols(of: Sequence[Look], field: str = "kind:N", *, columns: int = 2) -> dict[str, Any]:
    """The channels colour and shape of these looks, with one common legend."""
    legend = alt.Legend(columns=columns)
    names = [look.name for look in of]
    fills = alt.Scale(domain=names, range=["transparent" if look.hollow else look.colour for look in of])
    return {
        "stroke": alt.Stroke(field, scale=colours(of), title=None, legend=legend),
        "fill": alt.Fill(field, scale=fills, title=None, legend=legend),
        "shape": alt.Shape(field, scale=shapes(of), title=None, legend=legend),
    }
