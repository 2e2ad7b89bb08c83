"""A timeline of a study: when workers trained and measured its trials, and when trials waited for a worker."""

from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.states import LOOKS as TRAINED
from skipstack.dashboards.charts.states import kinds
from skipstack.dashboards.charts.theme import INK, LINE, Look, colours, data, finished, present
from skipstack.dashboards.charts.titles import some_of, time_unit

MOST: Final = 600
"""The maximum number of bars that are drawn. Of more bars, the latest are drawn."""

MEASURED, WAITED = Look("measured on test", INK), Look("waited for a worker", LINE)

LOOKS = (*TRAINED, MEASURED, WAITED)

OTHER: Final = {"measuring": MEASURED.name, "waiting": WAITED.name}
"""The names of the looks by phase. In the phase ``training``, the look depends on the trial's state instead."""

WAITING: Final = "waiting"
"""The label of the line for all waiting trials."""


def timeline(spans: pd.DataFrame) -> Any:
    """Draw a bar for each period in which a trial was trained, was measured or waited for a worker. Bars of training
    and measuring that overlap in time are on different lines. All waiting is on one line.

    ``spans`` has a row for each period, with the columns ``trial``, ``phase`` (training, measuring or waiting),
    ``began`` and ``until`` (in seconds of the same clock), and ``state`` (how the period ended, or what it is now).
    """
    ordered = spans.sort_values(["began", "trial"], kind="stable")
    waits = ordered["phase"] == "waiting"
    worked = ordered[~waits].assign(line=lambda rows: lines(rows))
    side_by_side = int(worked["line"].max()) if len(worked) else 0
    worked = worked.assign(line=worked["line"].map(str))
    placed = pd.concat([worked, ordered[waits].assign(line=WAITING)]).loc[ordered.index]
    drawn = placed.iloc[-MOST:]
    start = float(drawn["began"].min())
    length = float(drawn["until"].max()) - start
    unit, seconds = time_unit(length)
    rows = drawn.assign(
        began=(drawn["began"] - start) / seconds,
        until=(drawn["until"] - start) / seconds,
        kind=drawn["phase"].map(OTHER).fillna(kinds(drawn["state"])),
    )
    there = present(LOOKS, rows["kind"])
    order = [*map(str, range(1, side_by_side + 1)), WAITING]
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
            y=alt.Y("line:O", title="workers", sort=order, axis=alt.Axis(ticks=False)),
            color=alt.Color("kind:N", scale=colours(there)),
            tooltip=[
                "trial:Q",
                "phase:N",
                "state:N",
                alt.Tooltip("began:Q", format=".2f"),
                alt.Tooltip("until:Q", format=".2f"),
            ],
        )
    )
    busy = float((worked["until"] - worked["began"]).sum())
    whole = float(worked["until"].max() - worked["began"].min()) * side_by_side if side_by_side else 0.0
    share = f", and workers were busy for {100 * busy / whole:.0f} % of the time" if whole else ""
    beside = int(rows["line"].nunique())
    return finished(
        chart.properties(height=beside * max(4, min(18, 240 // beside))),
        f"{f'Up to {side_by_side:,} trials' if side_by_side > 1 else 'One trial'} trained at a time{share}",
        some_of(len(drawn), len(spans), "times that a trial waited, trained or was measured"),
    )


def lines(spans: pd.DataFrame) -> np.ndarray[Any, Any]:
    """The line of each span, from 1: the lowest line free when the span begins. ``spans``: sorted by ``began``."""
    ends: list[float] = []
    found = []
    for began, until in zip(spans["began"], spans["until"], strict=True):
        free = next((place for place, end in enumerate(ends) if end <= began), len(ends))
        ends[free : free + 1] = [until]
        found.append(free + 1)
    return np.array(found, dtype=int)
