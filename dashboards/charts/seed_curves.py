"""A chart of the learning curves of one trial, seed by seed, beside the mean curves of other trials."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.curves import rules
from skipstack.dashboards.charts.theme import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    Look,
    data,
    finished,
    present,
    strokes,
    whole_numbers,
)
from skipstack.dashboards.charts.titles import shown, value_title
from skipstack.data.tasks.measure import Measure

SEED, MEAN, BASE, BEST, OTHER = LOOKS = (
    Look("each seed", BLUE),
    Look("mean of the seeds", INK),
    Look("the base, mean", ORANGE, dash=(6, 3)),
    Look("the best, mean", PURPLE, dash=(2, 2)),
    Look("the compared trial, mean", GREEN, dash=(8, 2, 2, 2)),
)

NAMED: Final = 5
"""Curves are labelled at their ends if there are at most this many seeds."""

APART: Final = 0.06
"""The minimum distance between two labels, as a fraction of the chart's height."""


def seed_curves(
    curves: pd.DataFrame,
    trial: int,
    measure: Measure,
    *,
    beside: Mapping[str, int],
    rungs: Sequence[int] = (),
    epochs: int,
) -> Any:
    """Draw the learning curve of each seed of a trial. With several seeds, also draw the mean curve. Mean curves end in
    a point. A vertical line marks each rung.

    ``curves``: a frame with the columns trial, epoch, seed and dev. ``trial``: the number of the trial. ``beside``: the
    numbers of the trials whose mean curves are drawn for comparison, by the names of their ``LOOKS``. ``rungs``: the
    epochs at which trials are compared. ``epochs``: the number of epochs of a complete trial.
    """
    finite = curves[np.isfinite(curves["dev"])].assign(value=lambda rows: rows["dev"] * shown(measure))
    own = finite[finite["trial"] == trial]
    seeds = own["seed"].nunique()
    parts = [own.assign(kind=SEED.name)]
    named = {MEAN.name: trial, **beside} if seeds > 1 else beside
    for kind, number in named.items():
        means = finite[finite["trial"] == number].groupby("epoch")["value"].mean().reset_index()
        parts.append(means.assign(kind=kind, trial=number, seed=-1))
    drawn = pd.concat(parts)[["trial", "epoch", "seed", "value", "kind"]]
    there = present(LOOKS, drawn["kind"])
    x = alt.X(
        "epoch:Q",
        title="epoch",
        scale=alt.Scale(domain=[1, max(epochs, 2)], nice=False),
        axis=whole_numbers([1, max(epochs, 2)]),
    )
    y = alt.Y("value:Q", title=value_title(measure), scale=alt.Scale(zero=False, nice=True, type=measure.scale))
    ends = own.loc[own.groupby("seed")["epoch"].idxmax()]
    told = ["seed:Q", "epoch:Q", alt.Tooltip("value:Q", title=value_title(measure), format=".4~f")]
    layers = [
        *rules(rungs, x),
        alt.Chart(data(drawn))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            detail=["trial:N", "seed:N"],
            **strokes(there),
            strokeWidth=alt.condition(f"datum.kind == '{MEAN.name}'", alt.value(2.5), alt.value(1.5)),
        ),
        alt.Chart(data(own)).mark_circle(size=22, color=BLUE).encode(x=x, y=y, tooltip=told),
    ]
    if 1 < seeds <= NAMED:
        layers.append(
            alt.Chart(data(_spread(ends, drawn["value"])))
            .mark_text(align="left", dx=6, color=INK)
            .encode(x=x, y=y, text=alt.Text("seed:N"))
        )
    last = drawn[drawn["seed"] < 0].groupby("kind", sort=False).tail(1)
    if len(last):  # a mean of a single epoch has no line
        point = alt.Chart(data(last)).mark_point(filled=True, size=22)
        layers.append(point.encode(x=x, y=y, color=strokes(there)["color"]))
    lost = len(curves[curves["trial"] == trial]) - len(own)
    return finished(
        alt.layer(*layers),
        f"Trial {trial}, seed by seed" if seeds > 1 else f"Trial {trial}, epoch by epoch",
        "Upright lines are rungs." if len(rungs) else "",
        "Seeds are named at the ends of their lines." if 1 < seeds <= NAMED else "",
        f"Not drawn: {lost:,} values that are not finite." if lost else "",
    )


def _spread(ends: pd.DataFrame, values: "pd.Series[float]") -> pd.DataFrame:
    """Move the ends of curves apart, so that their labels do not overlap. ``values``: all values in the chart."""
    gap = APART * float(values.max() - values.min())
    ordered = ends.sort_values("value")
    places: list[float] = []
    for value in ordered["value"]:
        places.append(max(value, places[-1] + gap) if places else value)
    return ordered.assign(value=np.array(places) - (places[-1] - float(ordered["value"].iloc[-1])) / 2)
