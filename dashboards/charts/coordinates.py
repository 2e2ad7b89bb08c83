"""A chart of parallel coordinates: a line for each trial, through its values on all axes to its score."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.axes import IN_LINES, in_lines, is_quantity, ordered, text_of, texts
from skipstack.dashboards.charts.theme import BEST, INK, LINE, WORST, data, evenly, finished
from skipstack.dashboards.charts.titles import not_drawn, some_of, value_title
from skipstack.data.tasks.measure import Measure

MOST: Final = 150
"""The maximum number of trials drawn: the best, and others evenly spaced over the ranking."""

INACTIVE: Final = -0.15
"""The height of a trial's line at an inactive axis. Heights at active axes are in [0, 1]."""

ABREAST: Final = 12
"""An axis's name is broken into lines of at most this many characters, so that neighbouring names do not overlap."""

STEP: Final = 110
"""The distance between neighbouring axes, in pixels."""


def parallel_coordinates(
    trials: pd.DataFrame, measure: Measure, axes: Sequence[str], *, names: Mapping[str, str], log: Collection[str] = ()
) -> Any:
    """Draw a line for each trial with a score, coloured by the trial's rank. The rightmost axis is the score on dev. At
    most ``MOST`` trials are drawn.

    ``trials``: a frame with the columns score and dev and a column for each of ``axes``, indexed by the number of the
    trial. ``names``: the names of the axes in the chart. ``log``: the axes with a logarithmic scale.
    """
    known = trials[trials["score"].notna() & np.isfinite(trials["dev"])]
    known = known.sort_index(ascending=False).sort_values("score", kind="stable")  # of equal trials, the first is best
    drawn = known.iloc[evenly(len(known), MOST)]
    short = {axis: in_lines(name, ABREAST) for axis, name in names.items()}
    last = in_lines(value_title(measure), ABREAST)
    last = f"{last} (measured)" if last in short.values() else last
    heights = {short[axis]: _heights(known[axis], drawn[axis], log=axis in log) for axis in axes}
    columns = {**heights, last: _scores(known, drawn, measure)}
    rank = pd.Series(np.linspace(0, 1, len(drawn)) if len(drawn) > 1 else [1.0], index=drawn.index)
    rows = pd.concat(
        [
            pd.DataFrame({"trial": drawn.index, "axis": axis, "height": high.to_numpy(), "rank": rank.to_numpy()})
            for axis, (high, _) in columns.items()
        ]
    )
    marks = pd.DataFrame(
        [(axis, height, text) for axis, (_, ticks) in columns.items() for text, height in ticks.items()],
        columns=["axis", "height", "text"],
    )
    order = list(columns)
    x = alt.X(
        "axis:N",
        title=None,
        scale=alt.Scale(domain=order),
        axis=alt.Axis(labelExpr=IN_LINES, labelLimit=0, labelAngle=0, labelOverlap=False),
    )
    y = alt.Y("height:Q", title=None, axis=None, scale=alt.Scale(domain=[INACTIVE - 0.05, 1.05]))
    scale = alt.Scale(domain=[0, 1], range=[WORST, BEST])
    between = alt.expr(f"width / {len(order)} - 6")  # from an axis to the next, also on a narrow page
    label: dict[str, Any] = {"align": "left", "dx": 4, "fontSize": 12, "limit": between}
    layers = [
        alt.Chart(data(marks)).mark_rule(color=LINE).encode(x=x),
        alt.Chart(data(rows))
        .mark_line(strokeWidth=1.2)
        .encode(x=x, y=y, detail="trial:N", color=alt.Color("rank:Q", scale=scale, legend=None)),
        alt.Chart(data(rows[rows["trial"] == drawn.index[-1]])).mark_line(strokeWidth=2.5, color=INK).encode(x=x, y=y),
        alt.Chart(data(marks)).mark_text(stroke="#ffffff", strokeWidth=3, **label).encode(x=x, y=y, text="text:N"),
        alt.Chart(data(marks)).mark_text(**label).encode(x=x, y=y, text="text:N"),
    ]
    lost = len(trials) - len(known)
    return finished(
        alt.layer(*layers).properties(width=STEP * len(order), height=260),
        f"Each line is a trial; the thick one is trial {drawn.index[-1]}, the best of them",
        "The bluer a line, the better its trial.",
        some_of(len(drawn), len(known), "trials"),
        not_drawn(lost, "trial", "without a score"),
    )


def _heights(
    every: "pd.Series[Any]", own: "pd.Series[Any]", *, log: bool
) -> "tuple[pd.Series[float], dict[str, float]]":
    """Return the heights of the drawn trials' values on one axis, and the height of each of the axis's labels.

    ``every``: the values of all trials with a score. They set the limits of the axis. ``own``: the drawn trials'
    values.
    """
    if every.notna().any() and is_quantity(every):
        turn = np.log if log else np.asarray
        low, high = (float(turn(float(each))) for each in (every.min(), every.max()))
        heights = pd.Series(turn(own.astype(float)), index=own.index).sub(low).div((high - low) or 1.0)
        ticks = {text_of(float(every.min())): 0.0, text_of(float(every.max())): 1.0}
    else:
        names = ordered(every)
        places = {name: place / max(len(names) - 1, 1) for place, name in enumerate(names)}
        heights, ticks = texts(own).map(places).astype(float), places
    inactive = {"not active": INACTIVE} if own.isna().any() else {}
    return heights.fillna(INACTIVE), {**ticks, **inactive}


def _scores(known: pd.DataFrame, drawn: pd.DataFrame, measure: Measure) -> "tuple[pd.Series[float], dict[str, float]]":
    """Return the heights of the drawn trials' scores (in [0, 1], better scores higher), and the height of each label.
    ``known``: all trials with a score, the worst first. They set the limits of the axis.
    """
    low, high = float(known["score"].min()), float(known["score"].max())
    ends = {measure.written(float(known["score"].iloc[place])): float(place != 0) for place in (0, -1)}
    return (drawn["score"] - low) / ((high - low) or 1.0), ends
