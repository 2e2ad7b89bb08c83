"""A forest plot: differences with intervals that are corrected as their marks are, or effects with a model's bands."""

import json
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.drawing import drawable
from skipstack.dashboards.charts.theme import BLUE, INK, ORANGE, Look, data, finished, symbols
from skipstack.dashboards.charts.titles import difference_title, not_drawn, shown
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.spaces.short_names import names_by_path

MARKED, OPEN, EXPLORED = LOOKS = (
    Look("marked *, corrected for all rows", BLUE),
    Look("open, corrected likewise", INK, "square", hollow=True),
    Look("explored, with a model's 95 % band", ORANGE, "diamond", hollow=True),
)

HEADING: Final = 34
"""The most characters of a line of a heading: it fits a telephone."""

LINE: Final = 20
"""The height of a line of text, in pixels."""

LABEL: Final = 30
"""The most characters of a line of a label."""


def effects(frame: pd.DataFrame, measure: Measure, *, what: str = "effect on", told: str = "", where: str = "") -> Any:
    """A row for each value of each axis: a filled point for a marked difference, a hollow one for an open one, and a
    diamond with a thin band for an exploratory effect.

    ``frame`` has the columns axis, value, effect, low and high: the ends of its interval, or of the band of an
    exploratory effect; in the measure's own unit. Rows stay in their order, below their axis. ``marked`` is a column of
    confirmed rows alone: a difference of a single seed is open and has no interval, and NaN there. ``told``: a title
    instead of the number of rows of each kind; ``where``: the corpus. An interval many times as wide as the others ends
    in an arrow.
    """
    rows = frame.dropna(subset=["effect"]).reindex(columns=["axis", "value", "effect", "low", "high", "marked"])
    names = {True: MARKED.name, False: OPEN.name} if "marked" in frame else {}
    rows["kind"] = [names.get(mark, EXPLORED.name) for mark in rows["marked"]]
    rows[["effect", "low", "high"]] = rows[["effect", "low", "high"]].astype(float) * shown(measure)
    start, end = _limits(rows)
    cut = [("triangle-left", rows["low"] < start, start), ("triangle-right", rows["high"] > end, end)]
    rows, lines = _lined(rows.assign(low=rows["low"].clip(lower=start), high=rows["high"].clip(upper=end)))
    present = [look for look in LOOKS if look.name in set(rows["kind"])]
    arrows = [
        _arrow(own["line"], look.colour, shape, edge)
        for shape, beyond, edge in cut
        for look in present
        if len(own := rows[beyond.to_numpy() & (rows["kind"] == look.name)])
    ]
    y = _rows(lines)
    axis = alt.Axis(format="+.4~g", tickCount=6)
    x = alt.X("effect:Q", title=difference_title(measure, what), axis=axis, scale=alt.Scale(domain=[start, end]))
    base = alt.Chart(data(rows)).encode(y=y, x=x)
    intervals = [
        alt.Chart(data(own))
        .mark_rule(strokeWidth=1 if look.hollow else 2.5, color=look.colour)
        .encode(y=y, x="low:Q", x2="high:Q")
        for look in present
        if len(own := rows[(rows["kind"] == look.name) & rows["low"].notna()])
    ]
    headings = pd.DataFrame(
        [(line, text[0]) for line, (text, bold) in enumerate(lines) if bold], columns=["line", "text"]
    )
    return finished(
        alt.layer(
            alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0)),
            *intervals,
            *arrows,
            base.mark_point(size=80, strokeWidth=1.8, opacity=1).encode(**symbols(present, columns=1)),
            *(
                [
                    alt.Chart(data(headings))
                    .mark_text(align="left", fontWeight="bold", fontSize=12)
                    .encode(y=y, x=alt.value(0), text="text:N")
                ]
                if len(headings)
                else []
            ),
        ).properties(height=LINE * len(lines) * max((len(text) for text, _ in lines), default=1)),
        told or _told(rows, measure, where, tested=bool(names)),
        "An arrow: the interval goes on." if arrows else "",
        not_drawn(len(frame) - len(rows), "value", "without an effect"),
    )


def _told(rows: pd.DataFrame, measure: Measure, where: str, *, tested: bool) -> str:
    """How many differences are marked; of exploratory effects, which is the largest."""
    if tested:
        marked = int(rows["kind"].eq(MARKED.name).sum())
        verb = "is" if marked == 1 else "are"
        return f"{where and f'{where}: '}{counted(marked, 'difference')} of {len(rows):,} {verb} beyond chance"
    if not len(rows):
        return "No exploratory effect"
    most = rows.loc[rows["effect"].abs().idxmax()]
    axis = names_by_path(rows["axis"])[most["axis"]]
    unit = " points" if measure.in_points else ""
    return f"The largest exploratory effect: {axis} {most['value']}, {most['effect']:+.2f}{unit}"


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """The ends of the x axis: those of all intervals, or less far where a few are many times as wide as the others."""
    sure = rows[rows["kind"] == MARKED.name]
    core = pd.concat([rows["effect"], sure["low"], sure["high"], pd.Series([0.0])]).dropna()
    low, high = float(core.min()), float(core.max())
    halves = ((rows["high"] - rows["low"]) / 2).dropna()
    beyond = max(high - low, 1.5 * float(halves.quantile(0.25)) if len(halves) else 0.0) or 1.0
    ends = pd.concat([rows["low"], rows["high"], core]).dropna()
    pad = 0.04 * (high - low + beyond)
    return max(float(ends.min()), low - beyond) - pad, min(float(ends.max()), high + beyond) + pad


def _lined(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[tuple[list[str], bool]]]:
    """The rows with their lines, and the label of each line; the name of an axis, in bold, stands above its values."""
    lines = list[tuple[list[str], bool]]()
    at = dict[Any, int]()
    short = names_by_path(rows["axis"])
    for axis, own in rows.groupby("axis", sort=False):
        lines += [([part], True) for part in textwrap.wrap(short[str(axis)], HEADING)]
        for number, value in own["value"].items():
            at[number] = len(lines)
            lines.append((textwrap.wrap(str(value), LABEL) or [""], False))
    return rows.assign(line=[at[number] for number in rows.index]), lines


def _rows(lines: Sequence[tuple[list[str], bool]]) -> alt.Y:
    """The y axis of these lines."""
    bold = [line for line, (_, heading) in enumerate(lines) if heading]
    labels = json.dumps([[] if heading else [drawable(part) for part in text] for text, heading in lines])
    axis = alt.Axis(
        labelExpr=f"{labels}[datum.value]",
        labelLimit=0,
        domain=False,
        ticks=False,
        grid=True,
        gridOpacity=alt.condition(f"indexof({bold}, datum.value) < 0", alt.value(1), alt.value(0)),
    )
    return alt.Y("line:O", title=None, scale=alt.Scale(domain=list(range(len(lines)))), axis=axis)


def _arrow(lines: "pd.Series[int]", colour: str, shape: str, edge: float) -> Any:
    """Where intervals go on beyond the picture."""
    return (
        alt.Chart(data(pd.DataFrame({"line": lines, "edge": edge})))
        .mark_point(filled=True, shape=shape, size=50, color=colour, opacity=1)
        .encode(y="line:O", x="edge:Q")
    )
