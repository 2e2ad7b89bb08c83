"""The importance of each axis, by several methods."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import LINE, colours, data, finished, looks, named, shapes


def importance(frame: pd.DataFrame) -> Any:
    """A row for each axis, the most important one on top, with a mark for each method.

    ``frame`` has the columns axis, method and importance: a share in [0, 1] of what the axes explain.
    """
    rows = frame.dropna(subset=["importance"]).assign(share=lambda rows: rows["importance"] * 100)
    order = rows.groupby("axis")["share"].mean().sort_values(ascending=False, kind="stable").index.tolist()
    methods = looks(rows["method"].unique().tolist())
    y = alt.Y("axis:N", title=None, scale=named(order), axis=alt.Axis(domain=False, ticks=False))
    x = alt.X("share:Q", title="importance (% of what the axes explain)", scale=alt.Scale(domainMin=0, zero=True))
    spans = alt.Chart().mark_rule(color=LINE, strokeWidth=2).encode(y=y, x="min(share):Q", x2="max(share):Q")
    points = (
        alt.Chart()
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            y=y,
            x=x,
            color=alt.Color("method:N", scale=colours(methods)),
            shape=alt.Shape("method:N", scale=shapes(methods)),
        )
    )
    lost = len(frame) - len(rows)
    return finished(
        alt.layer(spans, points, data=data(rows)).properties(height=alt.Step(24)),
        f"{order[0]} matters most" if order else "Importance of the axes",
        "The means of all methods order the axes." if len(methods) > 1 else "",
        f"Not drawn: {lost:,} axes that a method says nothing of." if lost else "",
    )
