"""A forest plot: differences with intervals that are corrected as their marks are, or effects with a model's bands."""

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, INK, LETTERS, ORANGE, WIDTH, Look, data, finished, named, symbols
from skipstack.dashboards.charts.titles import difference_title, not_drawn, shown
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure

MARKED, OPEN, EXPLORED = LOOKS = (
    Look("marked *, its interval corrected for all rows", BLUE),
    Look("open, likewise", INK, "square", hollow=True),
    Look("exploration, with the 95 % band of a model", ORANGE, "diamond", hollow=True),
)


def effects(frame: pd.DataFrame, measure: Measure, *, what: str = "effect on", told: str = "") -> Any:
    """A row for each value of each axis: a filled point for a marked difference, a hollow one for an open one, and a
    diamond with a thin band for an exploratory effect.

    ``frame`` has the columns axis, value, effect, low and high: the ends of its interval, or of the band of an
    exploratory effect; in the measure's own unit. Rows stay in their order, below their axis. ``marked`` is a column of
    confirmed rows alone: a difference of a single seed is open and has no interval, and NaN there. ``told``: a subtitle
    instead of the number of rows of each kind.
    """
    rows = frame.dropna(subset=["effect"]).reindex(columns=["axis", "value", "effect", "low", "high", "marked"])
    names = {True: MARKED.name, False: OPEN.name} if "marked" in frame else {}
    rows["kind"] = [names.get(mark, EXPLORED.name) for mark in rows["marked"]]
    rows[["effect", "low", "high"]] = rows[["effect", "low", "high"]].astype(float) * shown(measure)
    present = [look for look in LOOKS if look.name in set(rows["kind"])]
    axes = list(dict.fromkeys(rows["axis"]))
    title = difference_title(measure, what)
    panels = [_panel(rows[rows["axis"] == axis], present, title if axis == axes[-1] else None) for axis in axes]
    marked = int(rows["kind"].eq(MARKED.name).sum())
    of = f"{counted(marked, 'difference')} of {len(rows):,} {'is' if marked == 1 else 'are'} beyond chance"
    lost = len(frame) - len(rows)
    return finished(
        alt.vconcat(*panels, spacing=8).resolve_scale(x="shared"),
        told or (of if names else counted(len(rows), "exploratory effect")),
        not_drawn(lost, "value", "without an effect"),
    )


def _panel(rows: pd.DataFrame, present: Sequence[Look], title: str | None) -> Any:
    """One axis of the study; the last one has the ``title`` and the numbers of the x axis."""
    y = alt.Y("value:N", title=None, scale=named(rows["value"]), axis=alt.Axis(grid=True, domain=False, ticks=False))
    foot = alt.Axis(format="+.4~g", tickCount=6) if title else None
    x = alt.X("effect:Q", title=title, axis=foot)
    intervals = [
        alt.Chart()
        .transform_filter(f"datum.kind == '{look.name}'")
        .transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1 if look.hollow else 2.5, color=look.colour)
        .encode(y=y, x=alt.X("low:Q", title=title, axis=foot), x2="high:Q")
        for look in present
        if rows.loc[rows["kind"] == look.name, "low"].notna().any()
    ]
    return alt.layer(
        alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.X(datum=0, title=title, axis=foot)),
        *intervals,
        alt.Chart().mark_point(size=80, strokeWidth=1.8, opacity=1).encode(y=y, x=x, **symbols(present)),
        data=data(rows),
    ).properties(
        width=WIDTH,
        height=alt.Step(20),
        title=alt.TitleParams(textwrap.wrap(rows["axis"].iloc[0], LETTERS - 16), fontSize=12, offset=2, frame="group"),
    )
