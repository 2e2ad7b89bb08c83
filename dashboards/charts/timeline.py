"""The timeline of trainings: a bar from the time when a worker started a trial until it ended or paused."""

from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.states import kinds, present
from skipstack.dashboards.charts.theme import colours, data, finished
from skipstack.dashboards.charts.titles import some_of, time_unit
from skipstack.data.basis.counted import counted

MOST: Final = 600
"""The most bars that are drawn: the last ones."""


def timeline(spans: pd.DataFrame) -> Any:
    """A bar for each training of a trial, on as many lines as trials were trained at the same time.

    ``spans`` has the columns trial, began, until, in seconds of one clock, and state: why it ended or paused.
    """
    placed = spans.sort_values(["began", "trial"], kind="stable").assign(line=lambda rows: lines(rows))
    drawn = placed.iloc[-MOST:]
    start = float(drawn["began"].min())
    length = float(drawn["until"].max()) - start
    unit, seconds = time_unit(length)
    rows = drawn.assign(
        began=(drawn["began"] - start) / seconds,
        until=(drawn["until"] - start) / seconds,
        kind=kinds(drawn["state"]),
    )
    there = present(rows["kind"])
    chart = (
        alt.Chart(data(rows))
        .mark_bar(stroke="#ffffff", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "began:Q",
                title=f"{unit} since the first of them began",
                axis=alt.Axis(tickCount=8),
                scale=alt.Scale(nice=False),
            ),
            x2="until:Q",
            y=alt.Y("line:O", title=None, axis=alt.Axis(ticks=False, labels=False, domain=False)),
            color=alt.Color("kind:N", scale=colours(there)),
            tooltip=["trial:Q", "state:N", alt.Tooltip("began:Q", format=".2f"), alt.Tooltip("until:Q", format=".2f")],
        )
    )
    side = int(rows["line"].nunique())
    busy = float((spans["until"] - spans["began"]).sum())
    whole = (float(spans["until"].max()) - float(spans["began"].min())) * int(placed["line"].max())
    share = f", and their lines were busy for {100 * busy / whole:.0f} % of the time" if whole else ""
    return finished(
        chart.properties(height=side * max(4, min(18, 240 // side))),
        f"Up to {counted(int(placed['line'].max()), 'trial')} trained side by side{share}",
        some_of(len(drawn), len(spans), "times that a trial was trained"),
    )


def lines(spans: pd.DataFrame) -> np.ndarray[Any, Any]:
    """The line of each span, from 1: the lowest line that is free at its start. ``spans`` are sorted by start."""
    ends: list[float] = []
    found = []
    for began, until in zip(spans["began"], spans["until"], strict=True):
        free = next((place for place, end in enumerate(ends) if end <= began), len(ends))
        ends[free : free + 1] = [until]
        found.append(free + 1)
    return np.array(found, dtype=int)
