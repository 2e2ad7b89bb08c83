"""A map of the configs that a search has tried, on which similar configs are close together."""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.theme import BEST, INK, WORST, data, finished, gradient
from skipstack.dashboards.charts.titles import shown, some_of, value_title
from skipstack.data.tasks.measure import Measure


def footprint(places: pd.DataFrame, trials: pd.DataFrame, measure: Measure) -> Any:
    """Draw a point for each config, coloured by its score; hollow if it has no score.

    ``places``: the positions of the configs on the map, with the columns trial, x and y. ``trials``: a frame with the
    column dev, indexed by the number of the trial.
    """
    dev = trials["dev"].reindex(places["trial"]).to_numpy() * shown(measure)
    rows = places.assign(value=np.where(np.isfinite(dev), dev, np.nan))
    plain = alt.Axis(labels=False, ticks=False, grid=False)
    better = [WORST, BEST]
    scale = alt.Scale(range=better if measure.factor > 0 else better[::-1])
    colour = alt.Color("value:Q", title=value_title(measure), scale=scale, legend=gradient(rows["value"]))
    base = alt.Chart(data(rows)).encode(
        x=alt.X("x:Q", title="alike configs lie close to each other", axis=plain, scale=alt.Scale(nice=False)),
        y=alt.Y("y:Q", title=None, axis=plain, scale=alt.Scale(nice=False)),
        tooltip=["trial:Q", alt.Tooltip("value:Q", format=".4~f", title=value_title(measure))],
    )
    without = base.transform_filter("!isValid(datum.value)").mark_point(size=30, color=INK, opacity=0.5)
    scored = (
        base.transform_filter("isValid(datum.value)")
        .mark_point(filled=True, size=40, opacity=0.9, stroke=INK, strokeWidth=0.3)
        .encode(color=colour)
    )
    known = rows["value"].notna()
    return finished(
        alt.layer(*([] if known.all() else [without]), *([scored] if known.any() else [])),
        "The configs that were tried, as a map",
        "Distances are those of the configs, as far as two dimensions can show them.",
        some_of(len(places), len(trials), "trials"),
    )
