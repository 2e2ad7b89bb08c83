"""Maps an axis of a study to an axis of a chart: numbers by size, other values one by one."""

import re
import textwrap
from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import LETTERS, named

FEW: Final = 8
"""Up to this many distinct whole numbers, or half as many other numbers, are drawn value by value."""


def is_quantity(values: "pd.Series[Any]") -> bool:
    """Whether the values are numbers, and too many to draw one by one; booleans are not numbers."""
    numbers = pd.api.types.is_numeric_dtype(values) and values.dtype != "boolean"
    return numbers and values.nunique() > (FEW // 2 if values.dtype == "float64" else FEW)


def ordered(values: "pd.Series[Any]") -> list[str]:
    """The texts of the values that occur, sorted: numbers by size, others by name."""
    return [
        text_of(value) for value in sorted(values.dropna().unique().tolist(), key=lambda each: (str(type(each)), each))
    ]


def text_of(value: Any) -> str:
    """The label of a value at an axis."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def texts(values: "pd.Series[Any]") -> "pd.Series[str]":
    """The labels of the values at an axis."""
    found = [None if missing else text_of(value) for value, missing in zip(values, values.isna(), strict=True)]
    return pd.Series(found, index=values.index, name=values.name, dtype="str")


IN_LINES: Final = r"split(trim(datum.label), '\n')"
"""The expression that writes the labels of ``in_lines``."""

BREAK: Final = "\x0b"
"""Marks a possible line break in a label; unused marks are removed."""


def in_lines(name: str, letters: int) -> str:
    """A label in lines of at most ``letters`` characters, broken at a blank or before a part of a path if possible."""
    places = re.sub(r"(?<=[_.])(?=[^\W\d])", BREAK, " ".join(name.split()))
    lines = textwrap.wrap(places, letters, replace_whitespace=False)
    return "\n".join(line.replace(BREAK, "") for line in lines)


def channel(kind: Any, field: str, values: "pd.Series[Any]", title: str, *, log: bool = False) -> Any:
    """The channel X or Y of an axis, whose values (or their labels) are in the column ``field``; ``log``: spaced by
    the logarithm.
    """
    if is_quantity(values):
        spaced: dict[str, Any] = {"type": "log"} if log else {"type": "linear", "zero": False}
        scale = alt.Scale(nice=False, **spaced)
        return kind(
            f"{field}:Q", title=title[:LETTERS], scale=scale, axis=alt.Axis(format="~g", tickCount=5, grid=False)
        )
    return kind(f"{field}:N", title=title[:LETTERS], scale=named(ordered(values)), axis=alt.Axis(labelAngle=0))


def placed(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """The column that ``channel`` reads."""
    return values.astype(float) if is_quantity(values) else texts(values)
