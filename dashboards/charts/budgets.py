"""Searches of unequal size compared: the best that one expects after so many trials."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.quantities import shown, value_title
from skipstack.dashboards.charts.theme import colours, dashes, data, finished, looks, shapes
from skipstack.data.tasks.measure import Measure


def expected_best(frame: pd.DataFrame, measure: Measure) -> Any:
    """A line for each study, with its mark at its end.

    ``frame`` has the columns trials and expected_best, in the measure's own unit, and study where there are several.
    """
    named = frame if "study" in frame else frame.assign(study="")
    rows = named.dropna(subset=["expected_best"]).assign(value=lambda rows: rows["expected_best"] * shown(measure))
    studies = looks(rows["study"].unique().tolist())
    ends = rows.loc[rows.groupby("study", sort=False)["trials"].idxmax()]
    several = len(studies) > 1
    x = alt.X("trials:Q", title="trials", axis=alt.Axis(tickMinStep=1, format=",d"), scale=alt.Scale(zero=False))
    y = alt.Y("value:Q", title=f"expected best {value_title(measure)}", scale=alt.Scale(zero=False))
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2, symbolSize=400) if several else None
    colour = alt.Color("study:N", scale=colours(studies), legend=legend)
    dash = alt.StrokeDash("study:N", scale=dashes(studies), legend=legend)
    lines = alt.Chart(data(rows)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    marks = (
        alt.Chart(data(ends))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("study:N", scale=colours(studies), legend=None),
            shape=alt.Shape("study:N", scale=shapes(studies), legend=None),
        )
    )
    lost = len(frame) - len(rows)
    return finished(
        alt.layer(lines, marks),
        "The best that one expects after so many trials",
        "Of the study's trials, drawn in any order." if not several else "Of each study's trials, drawn in any order.",
        f"Not drawn: {lost:,} numbers that are not known." if lost else "",
    )
