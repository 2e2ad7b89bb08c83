"""A chart as a file: vl-convert draws it in this process, with fonts of its own and without a network."""

import io
from typing import Any

import altair as alt


def as_svg(chart: Any) -> str:
    """The chart as SVG. The same chart gives the same text."""
    written = io.StringIO()
    chart.save(written, format="svg")
    return written.getvalue()


def as_png(chart: Any, *, scale: float = 2) -> bytes:
    """The chart as PNG, ``scale`` pixels for each of its own."""
    written = io.BytesIO()
    chart.save(written, format="png", scale_factor=scale)
    return written.getvalue()


def words(chart: Any) -> str:
    """The title of a chart and the sentences below it, for those who do not see it."""
    title, *sentences = [" ".join(lines) for lines in (chart.title.text, chart.title.subtitle)]
    return " ".join([f"{title}.", *sentences]).strip()


def without_words(chart: Any) -> Any:
    """The chart for a place where its title and sentences stand beside it."""
    bare = chart.copy(deep=False)
    bare.title = alt.Undefined
    return bare
