"""Maps a search-space axis to a chart axis: numeric for many distinct numbers, categorical otherwise."""

import re
import textwrap
from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import LETTERS, named

FEW: Final = 8
"""The maximum number of distinct integers that are drawn as categories. For floats, the maximum is half as large."""


def is_quantity(values: "pd.Series[Any]") -> bool:
    """Whether the values get a numeric scale: they are numbers (not booleans) and too many for categories."""
    numbers = pd.api.types.is_numeric_dtype(values) and values.dtype != "boolean"
    return numbers and values.nunique() > (FEW // 2 if values.dtype == "float64" else FEW)


def ordered(values: "pd.Series[Any]") -> list[str]:
    """The labels of the distinct values, with numbers sorted by size, ordinal values in their order, and other values
    by name.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        return [text_of(value) for value in values.cat.remove_unused_categories().cat.categories]
    return [
        text_of(value) for value in sorted(values.dropna().unique().tolist(), key=lambda each: (str(type(each)), each))
    ]


def text_of(value: Any) -> str:
    """The label of a value on an axis of a chart."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def texts(values: "pd.Series[Any]") -> "pd.Series[str]":
    """The labels of the values on an axis of a chart; None for a missing value."""
    found = [None if missing else text_of(value) for value, missing in zip(values, values.isna(), strict=True)]
    return pd.Series(found, index=values.index, name=values.name, dtype="str")


IN_LINES: Final = r"split(trim(datum.label), '\n')"
"""The Vega expression that draws a label in the lines that ``in_lines`` made."""

BREAK: Final = "\x0b"
"""A temporary mark at a place within a word where a line may be broken."""


def in_lines(name: str, letters: int) -> str:
    """Break a label into lines of at most ``letters`` characters, if possible at blanks or after ``.`` or ``_``."""
    places = re.sub(r"(?<=[_.])(?=[^\W\d])", BREAK, " ".join(name.split()))
    lines = textwrap.wrap(places, letters, replace_whitespace=False)
    return "\n".join(line.replace(BREAK, "") for line in lines)


def channel(kind: Any, field: str, values: "pd.Series[Any]", title: str, *, log: bool = False) -> Any:
    """The X or Y channel of a chart for an axis of the search space.

    ``kind``: ``alt.X`` or ``alt.Y``. ``field``: the column of the chart's data that ``placed`` made from ``values``.
    ``title``: the title of the axis, which is cut to ``LETTERS`` characters. ``log``: whether a numeric scale is
    logarithmic.
    """
    if is_quantity(values):
        spaced: dict[str, Any] = {"type": "log"} if log else {"type": "linear", "zero": False}
        scale = alt.Scale(nice=False, domain=[float(values.min()), float(values.max())], **spaced)
        return kind(
            f"{field}:Q", title=title[:LETTERS], scale=scale, axis=alt.Axis(format="~r", tickCount=5, grid=False)
        )
    return kind(f"{field}:N", title=title[:LETTERS], scale=named(ordered(values)), axis=alt.Axis(labelAngle=0))


def placed(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Convert values into the column that ``channel`` reads: numbers for a numeric scale, labels otherwise."""
    return values.astype(float) if is_quantity(values) else texts(values)
