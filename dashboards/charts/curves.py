"""A chart of learning curves: the score of each trial after each epoch, and where trials were stopped."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts import states
from skipstack.dashboards.charts.theme import (
    BLUE,
    INK,
    ORANGE,
    PURPLE,
    RED,
    Look,
    data,
    evenly,
    finished,
    present,
    strokes,
    whole_numbers,
)
from skipstack.dashboards.charts.titles import shown, some_of, value_title
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure

BEST, WHOLE, STOPPED, RUNNING, FAULTY = LOOKS = (
    Look("best trial", INK),
    Look("trained to its end", BLUE),
    Look("stopped (×)", ORANGE, "cross", (5, 3)),
    Look(states.RUNNING.name, PURPLE, "square", (2, 2)),
    Look(states.FAULTY.name, RED, "cross", (8, 2, 2, 2)),
)

NAMES: Final = {**states.NAMES, "stopped": STOPPED.name}
"""The name of the look (colour and dash) of a trial's curve, by the trial's state. All other states have the look
``FAULTY``.
"""

MOST: Final = 150
"""The maximum number of curves that are drawn."""


def learning_curves(
    curves: pd.DataFrame,
    trials: pd.DataFrame,
    measure: Measure,
    *,
    rungs: Sequence[int] = (),
    ranked: Sequence[int] | None = None,
) -> Any:
    """Draw each trial's learning curve, averaged over its seeds. A cross marks where a trial was stopped, but the best
    trial has none. A vertical line marks each rung. If there are more than ``MOST`` trials, the best is drawn, and
    others evenly spaced over the ranking.

    ``curves``: a frame with the columns trial, epoch, seed and dev. ``trials``: a frame with the columns state and
    score, indexed by the number of the trial. ``rungs``: the epochs at which trials are compared. ``ranked``: the
    numbers of the trials with a score, the best first; None if they are ranked by their scores.
    """
    means = curves.groupby(["trial", "epoch"])["dev"].mean().reset_index()
    finite = means[np.isfinite(means["dev"])]
    scored = trials["score"].dropna().sort_values(ascending=False).index if ranked is None else pd.Index(ranked)
    known = pd.Index(finite["trial"].unique())
    order = scored[scored.isin(known)].append(known[~known.isin(scored)])
    places = evenly(len(order), MOST)
    drawn = finite[finite["trial"].isin(order[places])]
    drawn = drawn.assign(
        value=drawn["dev"] * shown(measure),
        kind=drawn["trial"].map(trials["state"]).map(NAMES).fillna(FAULTY.name),
    )
    if len(scored):
        drawn.loc[drawn["trial"] == scored[0], "kind"] = BEST.name
    last = drawn.loc[drawn.groupby("trial")["epoch"].idxmax()]
    y = alt.Y("value:Q", title=value_title(measure), scale=alt.Scale(zero=False, nice=True, type=measure.scale))
    x = alt.X("epoch:Q", title="epoch", axis=whole_numbers(drawn["epoch"]), scale=alt.Scale(zero=False, nice=False))
    look = strokes(present(LOOKS, drawn["kind"]))
    lines = alt.Chart(data(drawn)).mark_line(strokeWidth=1).encode(x=x, y=y, detail="trial:N", **look)
    cross: dict[str, Any] = {"shape": "M-.5,-.5L.5,.5M.5,-.5L-.5,.5", "color": ORANGE, "size": 60, "strokeWidth": 1.5}
    best, stopped = drawn[drawn["kind"] == BEST.name], last[last["kind"] == STOPPED.name]
    others = last[last["kind"] != STOPPED.name]
    ends = alt.Chart(data(others)).mark_point(filled=True, size=18).encode(x=x, y=y, color=look["color"])
    parts = [
        (best, alt.Chart(data(best)).mark_line(color=INK, strokeWidth=2.5).encode(x=x, y=y)),
        (stopped, alt.Chart(data(stopped)).mark_point(**cross).encode(x=x, y=y)),
        (others, ends),
    ]
    layers = [*rules(rungs, x), lines, *(part for rows, part in parts if len(rows))]  # empty layers have no extent
    count = trials["state"].value_counts()
    return finished(
        alt.layer(*layers),
        f"Learning curves: {count.get('stopped', 0):,} of {len(trials):,} trials were stopped early",
        "Each line is a trial, the mean over its seeds." + (" Upright lines are rungs." if len(rungs) else ""),
        some_of(len(places), len(order), "trials"),
        _without(means, finite, trials),
    )


def rules(rungs: Iterable[int], x: alt.X) -> list[Any]:
    """A layer of dotted lines at ``rungs``, in a list that is empty without rungs. ``x``: the axis of epochs."""
    at = pd.DataFrame({"epoch": sorted(set(rungs))})
    return [alt.Chart(data(at)).mark_rule(strokeDash=[1, 3]).encode(x=x)] if len(at) else []


def _without(means: pd.DataFrame, finite: pd.DataFrame, trials: pd.DataFrame) -> str:
    lost, silent = len(means) - len(finite), len(trials) - finite["trial"].nunique()
    lacking = ((lost, "epoch", "without a finite value"), (silent, "trial", "without any"))
    said = [f"{counted(count, noun)} {why}" for count, noun, why in lacking if count]
    return f"Not drawn: {', '.join(said)}." if said else ""
