"""A chart of the distribution of a search's scores."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.states import LOOKS, kinds
from skipstack.dashboards.charts.theme import colours, dashes, data, evenly, finished, present
from skipstack.dashboards.charts.titles import not_drawn, shown, value_title
from skipstack.data.tasks.measure import Measure

MOST = 400
"""The maximum number of steps in a line."""


def distribution(trials: pd.DataFrame, measure: Measure) -> Any:
    """Draw the empirical distribution function of the scores, with a line for each kind of state (``states.py``).

    ``trials``: a frame of trials with the columns state, score and dev.
    """
    known = trials[np.isfinite(trials["dev"])]
    parts = []
    for kind, own in known.assign(kind=kinds(known["state"])).groupby("kind"):
        values = np.sort(own["dev"].to_numpy() * shown(measure))
        if measure.factor < 0:
            values = values[::-1]  # worst first: the largest values come first if lower is better
        shares = np.arange(1, len(values) + 1) / len(values) * 100
        at = evenly(len(values), MOST)
        parts.append(pd.DataFrame({"value": values[at], "share": shares[at], "kind": kind}))
    rows = pd.concat(parts)
    there = present(LOOKS, rows["kind"])
    scale = alt.Scale(zero=False, reverse=measure.factor < 0, type=measure.scale)
    legend = alt.Legend(symbolType="stroke", symbolSize=400)
    chart = (
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("value:Q", title=value_title(measure), scale=scale),
            y=alt.Y("share:Q", title="trials that are this good or worse (%)"),
            color=alt.Color("kind:N", scale=colours(there), legend=legend),
            strokeDash=alt.StrokeDash("kind:N", scale=dashes(there), legend=legend),
        )
    )
    silent = len(trials) - len(known)
    best, median = (measure.written(float(each)) for each in (known["score"].max(), known["score"].median()))
    return finished(
        chart,
        f"Half of {len(known):,} trials are worse than {median}; the best has {best}",
        "Further to the right is better.",
        not_drawn(silent, "trial", "without a score"),
    )
