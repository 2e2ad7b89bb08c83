"""A chart of the learning curves of the running trials, with the score that each later rung requires."""

from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.curves import rules
from skipstack.dashboards.charts.theme import BLUE, INK, ORANGE, Look, data, finished, strokes, whole_numbers
from skipstack.dashboards.charts.titles import shown, some_of, value_title
from skipstack.data.tasks.measure import Measure

TRAINS, NEEDED = Look("trains now", BLUE), Look("needed now to go on there", ORANGE, "stroke", (5, 3))

MOST: Final = 20
"""The maximum number of curves. Of more running trials, only those with the best scores are drawn."""

NAMED: Final = 8
"""Curves are labelled with the numbers of their trials if at most this many are drawn."""


def running_curves(curves: pd.DataFrame, thresholds: pd.DataFrame, measure: Measure, *, epochs: int) -> Any:
    """Draw each running trial's learning curve, averaged over its seeds. Strokes mark the scores that rungs require.

    ``curves``: a frame of the running trials with the columns trial, epoch, seed and dev. ``thresholds``: a frame with
    the columns ``rung``, ``results`` (the number of trials that have reached the rung) and ``needed`` (the score that a
    trial needs to continue). ``needed`` is NaN if there is no threshold yet. ``epochs``: the number of epochs of a
    complete trial.
    """
    means = curves.groupby(["trial", "epoch"])["dev"].mean().reset_index()
    means = means[np.isfinite(means["dev"])].assign(value=lambda rows: rows["dev"] * shown(measure))
    last = means.loc[means.groupby("trial")["epoch"].idxmax()]
    best = last.sort_values("value", ascending=measure.factor < 0)["trial"].tolist()[:MOST]
    drawn = means[means["trial"].isin(best)].assign(kind=TRAINS.name)
    ends = drawn.loc[drawn.groupby("trial")["epoch"].idxmax()]
    asked = thresholds.dropna(subset=["needed"])
    asked = asked.assign(
        value=asked["needed"].map(measure.score) * shown(measure),
        kind=NEEDED.name,
        before=asked["rung"] - 0.35,
        after=asked["rung"] + 0.35,
    )
    there = [TRAINS, *([NEEDED] if len(asked) else [])]
    x = alt.X(
        "epoch:Q",
        title="epoch",
        scale=alt.Scale(domain=[0.5, epochs + 0.5], nice=False),
        axis=whole_numbers([1, epochs]),
    )
    y = alt.Y("value:Q", title=value_title(measure), scale=alt.Scale(zero=False, nice=True, type=measure.scale))
    look = strokes(there)
    told = ["trial:Q", "epoch:Q", alt.Tooltip("value:Q", title=value_title(measure), format=".4~f")]
    layers = [
        *rules(thresholds["rung"], x),
        alt.Chart(data(drawn)).mark_line(strokeWidth=1.5).encode(x=x, y=y, detail="trial:N", **look),
        alt.Chart(data(ends)).mark_point(filled=True, size=36, color=BLUE).encode(x=x, y=y, tooltip=told),
    ]
    if len(asked):
        layers.append(
            alt.Chart(data(asked.rename(columns={"before": "epoch"})))
            .mark_rule(strokeWidth=2.5)
            .encode(
                x=x,
                x2="after:Q",
                y=y,
                tooltip=[
                    alt.Tooltip("rung:Q"),
                    alt.Tooltip("value:Q", title="needed now", format=".2f"),
                    alt.Tooltip("results:Q", title="trials that reached it"),
                ],
                **look,
            )
        )
    if len(ends) <= NAMED:
        layers.append(
            alt.Chart(data(ends)).mark_text(align="left", dx=7, color=INK).encode(x=x, y=y, text=alt.Text("trial:N"))
        )
    count = curves["trial"].nunique()
    return finished(
        alt.layer(*layers),
        "The trials that train now" + (", and what the next rungs ask for" if len(asked) else ""),
        ("Upright lines are the rungs ahead." if len(thresholds) else "")
        + ("" if len(asked) or not len(thresholds) else " None asks for a score yet."),
        some_of(len(best), count, "trials"),
    )
