"""A chart of scores over a numeric axis, with a line for each value of another axis, and with intervals."""

from typing import Any, Final, Literal

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import SERIES, data, finished, looks, strokes
from skipstack.dashboards.charts.titles import not_drawn, shown, some_of, value_scale, value_title
from skipstack.data.tasks.measure import Measure

MOST: Final = len(SERIES)
"""The maximum number of lines that are drawn: the number of different looks."""

WIDE: Final = 8
"""The x axis is logarithmic if all numbers are positive and the largest is at least this many times the smallest."""


def trends(frame: pd.DataFrame, measure: Measure, *, axis: str, lines: str, split: str) -> Any:
    """Draw scores with their intervals over a numeric axis, joined by a line for each value of another axis.

    Columns of ``frame``: ``number`` (the value on the x axis), ``line`` (the value of the other axis), ``value`` (the
    score), ``low`` and ``high`` (the ends of the score's 95 % interval; NaN if unknown). Scores and ends are unscaled
    (accuracies in [0, 1]). Lines keep their order, and only the first ``MOST`` are drawn. ``axis``: the name of the x
    axis. ``lines``: the name of the other axis; empty if there is a single line.
    """
    names = list(dict.fromkeys(frame["line"]))
    known = frame[frame["line"].isin(names[:MOST])].dropna(subset=["value"])
    rows = known.assign(**{name: known[name].astype(float) * shown(measure) for name in ("value", "low", "high")})
    present = looks(names[:MOST])
    numbers = sorted(rows["number"].unique().tolist())
    spaced: Literal["log", "linear"] = "log" if numbers[0] > 0 and numbers[-1] >= WIDE * numbers[0] else "linear"
    x = alt.X(
        "number:Q",
        title=axis,
        # Shows each number in full: a number format would choose the decimals by the distance of the ticks.
        axis=alt.Axis(values=numbers, labelExpr="toString(datum.value)", grid=False),
        scale=alt.Scale(type=spaced, domain=[numbers[0], numbers[-1]], nice=False, padding=12),
    )
    y = alt.Y("value:Q", title=value_title(measure, split), scale=value_scale(measure))
    look = strokes(present, "line:N", series=True)
    joined = alt.Chart(data(rows)).mark_line(strokeWidth=2).encode(x=x, y=y, **look)
    ends = rows.dropna(subset=["low", "high"])
    if measure.in_points:  # if seeds differ widely, intervals extend beyond the possible values
        ends = ends.assign(low=ends["low"].clip(lower=0.0), high=ends["high"].clip(upper=100.0))
    intervals = [
        alt.Chart(data(ends[ends["line"] == look.name]))
        .mark_rule(strokeWidth=2, color=look.colour)
        .encode(x=x, y=alt.Y("low:Q", title=value_title(measure, split)), y2="high:Q")
        for look in present
        if (ends["line"] == look.name).any()
    ]
    points = [
        alt.Chart(data(rows[rows["line"] == look.name]))
        .mark_point(filled=True, size=70, color=look.colour, shape=look.shape)
        .encode(x=x, y=y)
        for look in present
    ]  # each in a layer of its own: in a single layer, the shapes of points would replace the lines in the legend
    told = "Points are means over seeds" + (", upright rules 95 % intervals." if intervals else ".")
    return finished(
        alt.layer(*intervals, joined, *points),
        f"{measure.label} by {axis}" + (f", a line for each value of {lines}" if lines else ""),
        told,
        some_of(len(present), len(names), "lines"),
        not_drawn(len(frame[frame["line"].isin(names[:MOST])]) - len(rows), "point", "without a value"),
    )
