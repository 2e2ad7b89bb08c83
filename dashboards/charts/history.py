"""A chart of the score of each trial in the order of proposal, with the best score so far."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.states import LOOKS, kinds
from skipstack.dashboards.charts.theme import INK, data, finished, marks, present, thinned, whole_numbers
from skipstack.dashboards.charts.titles import not_drawn, shown, some_of, value_scale, value_title
from skipstack.data.tasks.measure import Measure

MOST: Final = 2000
"""The maximum number of trials that are drawn, apart from those that were the best so far."""


def history(trials: pd.DataFrame, measure: Measure, ranked: Sequence[int] | None = None) -> Any:
    """Draw a point for each trial with a score, and the best score so far as a step line. If there are more than
    ``MOST`` trials, only every n-th is drawn, and each that was the best so far.

    ``trials``: a frame with the columns state, score and dev, indexed by the number of the trial. ``ranked``: the
    numbers of the trials with a score, the best first; None if they are ranked by their scores.
    """
    known = trials[np.isfinite(trials["dev"]) & trials["score"].notna()]
    rows = pd.DataFrame(
        {
            "trial": known.index,
            "value": known["dev"].to_numpy() * shown(measure),
            "kind": kinds(known["state"]).to_numpy(),
        }
    )
    places = known["score"].rank(method="min", ascending=False)
    if ranked is not None:
        places = pd.Series(np.arange(float(len(ranked))), index=list(ranked)).reindex(known.index)
    leads = places.to_numpy() < np.concatenate([[np.inf], places.cummin().to_numpy()[:-1]])[: len(places)]
    steps = rows[leads]
    last = rows.iloc[[-1]].assign(value=steps["value"].iloc[-1]) if len(rows) else rows
    drawn = thinned(rows, MOST, pd.Series(leads))
    there = present(LOOKS, drawn["kind"])
    x = alt.X("trial:Q", title="trial, in the order of proposal", axis=whole_numbers(rows["trial"]))
    y = alt.Y("value:Q", title=value_title(measure), scale=value_scale(measure))
    told = [
        "trial:Q",
        alt.Tooltip("value:Q", title=value_title(measure), format=".4~f"),
        alt.Tooltip("kind:N", title=""),
    ]
    layers = [
        alt.Chart(data(pd.concat([steps, last]))).mark_line(interpolate="step-after", color=INK).encode(x=x, y=y),
        alt.Chart(data(drawn)).mark_point(size=30).encode(x=x, y=y, **marks(there), tooltip=told),
    ]
    silent = len(trials) - len(rows)
    return finished(
        alt.layer(*layers),
        f"Trial {steps['trial'].iloc[-1]} is the best so far" if len(steps) else "No trial has a score",
        "The line is the best so far.",
        some_of(len(drawn), len(rows), "trials"),
        not_drawn(silent, "trial", "without a score"),
    )
