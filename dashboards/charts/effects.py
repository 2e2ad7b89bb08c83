"""A forest plot of confirmed gains with corrected intervals, or of exploratory effects with a model's bands."""

import textwrap
from collections.abc import Collection, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.axes import IN_LINES, in_lines
from skipstack.dashboards.charts.theme import BLUE, INK, ORANGE, Look, data, finished, named, present, symbols
from skipstack.dashboards.charts.titles import difference_title, gain_title, not_drawn, shown, signed_text
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure

MARKED, OPEN, EXPLORED = LOOKS = (
    Look("marked *, corrected for all rows", BLUE),
    Look("open, corrected likewise", INK, "square", hollow=True),
    Look("explored, with a model's 95 % band", ORANGE, "diamond", hollow=True),
)

HEADING: Final = 34
"""The maximum number of characters in a line of a heading, so that the line fits the width of a phone."""

LINE: Final = 20
"""The height of a line of text, in pixels."""

LABEL: Final = 30
"""The maximum number of characters in a line of a label."""


def effects(
    frame: pd.DataFrame,
    measure: Measure,
    *,
    told: str = "",
    where: str = "",
    apart: Collection[str] = (),
) -> Any:
    """Draw a forest plot with a row for each value of each axis.

    A significant gain or loss (marked *) is a filled point. A gain that is not significant (open) is a hollow square.
    An exploratory effect is a hollow diamond with a thin band. An interval many times as wide as the others is
    cut off with an arrow.

    Columns of ``frame``: ``axis``, ``value``, ``effect`` (the gain or the exploratory effect), ``low`` and ``high``
    (the ends of the interval or band). Effects and ends are unscaled (0.01 for a point of accuracy). Confirmed rows
    also have ``marked`` (whether the gain is significant). A gain of a single seed is open, and its ends are NaN. Rows
    keep their order below the name of their axis. ``told``: the chart's title; if empty, the title is made from the
    rows. ``where``: the corpus, for the title of confirmed rows. ``apart``: the axes that stand out, for the title of
    exploratory rows.
    """
    rows = frame.dropna(subset=["effect"]).reindex(columns=["axis", "value", "effect", "low", "high", "marked"])
    rows = rows.reset_index(drop=True)
    names = {True: MARKED.name, False: OPEN.name} if "marked" in frame else {}
    rows["kind"] = [names.get(mark, EXPLORED.name) for mark in rows["marked"]]
    rows[["effect", "low", "high"]] = rows[["effect", "low", "high"]].astype(float) * shown(measure)
    start, end = _limits(rows)
    cut = [("triangle-left", rows["low"] < start, start), ("triangle-right", rows["high"] > end, end)]
    rows, lines, headings = _lined(rows.assign(low=rows["low"].clip(lower=start), high=rows["high"].clip(upper=end)))
    there = present(LOOKS, rows["kind"])
    arrows = [
        _arrow(own["line"], look.colour, shape, edge)
        for shape, beyond, edge in cut
        for look in there
        if len(own := rows[beyond.to_numpy() & (rows["kind"] == look.name)])
    ]
    y = _rows(lines)
    axis = alt.Axis(format="+.4~g", tickCount=6)
    title = gain_title(measure) if names else difference_title(measure, "effect on")
    x = alt.X("effect:Q", title=title, axis=axis, scale=alt.Scale(domain=[start, end]))
    base = alt.Chart(data(rows)).encode(y=y, x=x)
    intervals = [
        alt.Chart(data(own))
        .mark_rule(strokeWidth=1 if look.hollow else 2.5, color=look.colour)
        .encode(y=y, x="low:Q", x2="high:Q")
        for look in there
        if len(own := rows[(rows["kind"] == look.name) & rows["low"].notna()])
    ]
    above = pd.DataFrame(headings.items(), columns=["line", "text"])
    return finished(
        alt.layer(
            alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0)),
            *intervals,
            *arrows,
            base.mark_point(size=80, strokeWidth=1.8).encode(**symbols(there, columns=1)),
            alt.Chart(data(above))
            .mark_text(align="left", fontWeight="bold", fontSize=12)
            .encode(y=y, x=alt.value(0), text="text:N"),
        ).properties(height=LINE * len(lines) * max((len(line.strip().split("\n")) for line in lines), default=1)),
        told or (_tested(rows, where) if names else _explored(rows, measure, apart)),
        "An arrow: the interval goes on." if arrows else "",
        not_drawn(len(frame) - len(rows), "value", "without an effect"),
    )


def _tested(rows: pd.DataFrame, where: str) -> str:
    """The title for confirmed rows: how many changes help or harm significantly."""
    sure = rows[rows["kind"] == MARKED.name]
    helps, harms = int((sure["effect"] > 0).sum()), int((sure["effect"] < 0).sum())
    told = f"{helps:,} {'helps' if helps == 1 else 'help'} and {harms:,} {'harms' if harms == 1 else 'harm'}"
    return f"{where and f'{where}: '}{'of' if where else 'Of'} {counted(len(rows), 'change')}, {told} beyond chance"


def _explored(rows: pd.DataFrame, measure: Measure, apart: Collection[str]) -> str:
    """The title for exploratory rows: the largest effect on an axis in ``apart`` (the axes that stand out), if any."""
    clear = rows[rows["axis"].isin(list(apart))]
    if not len(clear):
        return "Effects of values; no axis stands out" if len(rows) else "No exploratory effect"
    most: Any = clear.iloc[int(clear["effect"].abs().argmax())]
    return f"The largest exploratory effect: {most['axis']} {most['value']}, {signed_text(most['effect'], measure)}"


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """The limits of the x axis. Intervals end within them, unless they are many times as wide as the others."""
    sure = rows[rows["kind"] == MARKED.name]
    core = pd.concat([rows["effect"], sure["low"], sure["high"], pd.Series([0.0])]).dropna()
    low, high = float(core.min()), float(core.max())
    halves = ((rows["high"] - rows["low"]) / 2).dropna()
    beyond = max(2 * (high - low), 3 * float(halves.quantile(0.25)) if len(halves) else 0.0) or 1.0
    ends = pd.concat([rows["low"], rows["high"], core]).dropna()
    pad = 0.04 * (high - low + beyond)
    return max(float(ends.min()), low - beyond) - pad, min(float(ends.max()), high + beyond) + pad


def _lined(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Assign the rows and the headings to lines of the chart.

    Returns the rows, with their lines' labels in the column ``line``. Also returns the labels of all lines, and the
    text of each heading by its line's label. Trailing blanks make labels unique. A long axis name becomes several
    headings.
    """
    lines, headings, at = list[str](), dict[str, str](), dict[Any, str]()

    def line(label: str) -> str:
        while label in lines or not label:
            label += " "
        lines.append(label)
        return label

    for axis, own in rows.groupby("axis", sort=False):
        headings |= {line(" "): part for part in textwrap.wrap(str(axis), HEADING)}
        at |= {number: line(in_lines(str(value), LABEL)) for number, value in own["value"].items()}
    return rows.assign(line=[at[number] for number in rows.index]), lines, headings


def _rows(lines: Sequence[str]) -> alt.Y:
    """The y axis for lines with these labels. Headings have blank labels and get no grid line."""
    axis = alt.Axis(
        labelExpr=IN_LINES,
        labelLimit=0,
        domain=False,
        ticks=False,
        grid=True,
        gridOpacity=alt.condition("trim(datum.value) != ''", alt.value(1), alt.value(0)),
    )
    return alt.Y("line:N", title=None, scale=named(lines), axis=axis)


def _arrow(lines: "pd.Series[str]", colour: str, shape: str, edge: float) -> Any:
    """Draw arrows where the intervals of ``lines`` are cut off: at ``edge``, the limit of the x axis."""
    return (
        alt.Chart(data(pd.DataFrame({"line": lines, "edge": edge})))
        .mark_point(filled=True, shape=shape, size=50, color=colour)
        .encode(y="line:N", x="edge:Q")
    )
