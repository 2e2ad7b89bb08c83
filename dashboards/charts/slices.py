"""A chart of slices: for each axis, the score of every trial over its value on that axis."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.axes import channel, is_quantity, placed
from skipstack.dashboards.charts.states import LOOKS, kinds
from skipstack.dashboards.charts.theme import WIDTH, data, finished, marks, present, thinned
from skipstack.dashboards.charts.titles import not_drawn, shown, some_of, value_scale, value_title
from skipstack.data.tasks.measure import Measure

MOST: Final = 1000
"""The maximum number of trials that are drawn."""


def slices(
    trials: pd.DataFrame,
    measure: Measure,
    axes: Sequence[str],
    *,
    names: Mapping[str, str],
    log: Collection[str] = (),
    after: int | None = None,
) -> Any:
    """Draw a panel for each of ``axes``, with a point for each scored trial in which the axis is active. If more than
    ``MOST`` trials have a score, the best and every n-th are drawn. The x axis of a panel also has the values of trials
    without a score.

    ``trials``: a frame of trials with the columns state, score and dev, and a column for each axis. ``names``: the
    names of the axes in the chart. ``log``: the axes with a logarithmic scale. ``after``: the scores are the best up to
    this epoch; None means the best of the whole training.
    """
    scored = trials[np.isfinite(trials["dev"])]
    drawn = thinned(scored, MOST, scored["score"] == scored["score"].max())
    there = present(LOOKS, kinds(drawn["state"]))
    low, high = drawn["dev"].min() * shown(measure), drawn["dev"].max() * shown(measure)
    scale = value_scale(measure, domain=[low, high])
    aside = alt.XOffset("apart:Q", scale=alt.Scale(domain=[-1, 1]))
    panels = []
    for axis in axes:
        own, tried = drawn[drawn[axis].notna()], trials[axis].dropna()
        rows = pd.DataFrame(
            {
                "trial": own.index,
                "at": placed(tried)[own.index].to_numpy(),
                "value": own["dev"].to_numpy() * shown(measure),
                "kind": kinds(own["state"]).to_numpy(),
                "apart": (own.index.to_numpy() * 0.618) % 1 - 0.5,  # so that points do not hide each other
            }
        )
        panels.append(
            alt.Chart(data(rows))
            .mark_point(size=26)
            .encode(
                x=channel(alt.X, "at", tried, names[axis], log=axis in log),
                y=alt.Y("value:Q", title=value_title(measure), scale=scale),
                **marks(there),
                tooltip=[
                    "trial:Q",
                    alt.Tooltip("at:N", title=names[axis]),
                    alt.Tooltip("value:Q", title="dev", format=".4~f"),
                ],
                **({} if is_quantity(tried) else {"xOffset": aside}),
            )
            .properties(width=WIDTH, height=160)
        )
    silent = len(trials) - len(scored)
    return finished(
        alt.vconcat(*panels, spacing=12).resolve_scale(y="shared"),
        "The score of each trial, over each axis alone",
        "Other axes differ, too, and stopped trials would have gone on to gain."
        if after is None
        else f"The best up to epoch {after} of each trial that was trained so long. Other axes differ, too.",
        some_of(len(drawn), len(scored), "trials"),
        not_drawn(silent, "trial", "without a score" if after is None else "not trained so long, or without a score"),
    )
