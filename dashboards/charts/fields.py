"""Charts of scores over two axes: a heat map of mean scores, and a scatter plot of trials coloured by rank."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.axes import channel, is_quantity, placed, text_of
from skipstack.dashboards.charts.theme import BEST, INK, LINE, WIDTH, WORST, data, finished, gradient, thinned
from skipstack.dashboards.charts.titles import decimals, not_drawn, shown, some_of, value_title
from skipstack.data.tasks.measure import Measure

PARTS: Final = 6
"""The number of intervals into which a numeric axis is divided. On the axis's scale, they have equal widths."""

MOST: Final = 1000
"""The maximum number of trials that are drawn as points."""


def means_over(
    trials: pd.DataFrame, measure: Measure, one: str, other: str, *, names: Mapping[str, str], log: Collection[str] = ()
) -> Any:
    """Draw a heat map over two axes. A cell is a pair of values, or of intervals of values. Its colour is the mean dev
    score of its trials; a cell without a trial stays empty.

    ``trials``: a frame of trials with the columns dev, ``one`` and ``other``. ``one``, ``other``: the two axes.
    ``names``: the names of the axes in the chart. ``log``: the axes with a logarithmic scale.
    """
    known = trials[np.isfinite(trials["dev"]) & trials[one].notna() & trials[other].notna()]
    rows = pd.DataFrame({"value": known["dev"].to_numpy() * shown(measure)})
    for name, axis in (("x", one), ("y", other)):
        rows[f"{name}"], rows[f"{name}_end"] = _parts(known[axis], log=axis in log)
    fields = rows.groupby(["x", "x_end", "y", "y_end"])["value"].agg(["mean", "size"]).reset_index()
    x = channel(alt.X, "x", known[one], names[one], log=one in log)
    y = channel(alt.Y, "y", known[other], names[other], log=other in log)
    ends = {f"{name}2": f"{name}_end:Q" for name, axis in (("x", one), ("y", other)) if is_quantity(known[axis])}
    colour = alt.Color(
        "mean:Q",
        title=f"mean {value_title(measure)}",
        scale=alt.Scale(range=[WORST, BEST] if measure.factor > 0 else [BEST, WORST]),
        legend=gradient(fields["mean"]),
    )
    chart = (
        alt.Chart(data(fields))
        .mark_rect(stroke=LINE)
        .encode(
            x=x,
            y=y,
            color=colour,
            tooltip=[alt.Tooltip("mean:Q", format=".4~f"), alt.Tooltip("size:Q", title="trials")],
            **ends,
        )
    )
    return finished(
        chart.properties(width=WIDTH, height=220),
        _best_field(fields, measure, names[one], names[other]),
        "Other axes differ, too, and so does how long they were trained.",
        _silent(trials, known),
    )


def _best_field(fields: pd.DataFrame, measure: Measure, one: str, other: str) -> str:
    """The chart's title: the cell with the best mean score, if there is any. ``one``, ``other``: the axes' names."""
    means = fields["mean"] if measure.factor > 0 else -fields["mean"]
    if not len(means):
        return "The mean score of the trials in each field"
    best: Any = fields.iloc[int(means.argmax())]
    at = " and ".join(
        f"{name} {_between(best[side], best[f'{side}_end'])}" for name, side in ((one, "x"), (other, "y"))
    )
    return f"Trials of {at} are the best on average: {best['mean']:.{decimals(means)}f}"


def _between(start: Any, end: Any) -> str:
    return text_of(start) if start == end else f"{start:.3g} to {end:.3g}"


def ranks_over(
    trials: pd.DataFrame, measure: Measure, one: str, other: str, *, names: Mapping[str, str], log: Collection[str] = ()
) -> Any:
    """Draw a point over two axes for each scored trial in which both axes are active. The colour is the trial's rank in
    percent (0 % is the best). If there are more than ``MOST`` trials, the best and every n-th are drawn.

    ``trials``: a frame of trials with the columns score, dev, ``one`` and ``other``. The other arguments are those of
    ``means_over``.
    """
    known = trials[trials["score"].notna() & trials[one].notna() & trials[other].notna()]
    ranks = known["score"].rank(ascending=False, method="min")
    drawn = thinned(known, MOST, ranks == 1)
    rows = pd.DataFrame(
        {
            "trial": drawn.index,
            "x": placed(drawn[one]).to_numpy(),
            "y": placed(drawn[other]).to_numpy(),
            "rank": ((ranks - 1) / max(len(known) - 1, 1) * 100)[drawn.index].to_numpy(),
            "dev": drawn["dev"].to_numpy() * shown(measure),
            "apart": (drawn.index.to_numpy() * 0.618) % 1,
            "aside": (drawn.index.to_numpy() * 0.755) % 1,
        }
    ).sort_values("rank", ascending=False)
    away = alt.Scale(domain=[-0.5, 1.5])
    offsets = {
        **({} if is_quantity(known[one]) else {"xOffset": alt.XOffset("apart:Q", scale=away)}),
        **({} if is_quantity(known[other]) else {"yOffset": alt.YOffset("aside:Q", scale=away)}),
    }
    legend = alt.Legend(orient="bottom", gradientLength=200)
    scale = alt.Scale(domain=[0, 100], range=[BEST, WORST])
    chart = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=45, opacity=0.9, stroke=INK, strokeWidth=0.4)
        .encode(
            x=channel(alt.X, "x", known[one], names[one], log=one in log),
            y=channel(alt.Y, "y", known[other], names[other], log=other in log),
            color=alt.Color("rank:Q", title="rank (%), 0 is the best", scale=scale, legend=legend),
            tooltip=["trial:Q", alt.Tooltip("rank:Q", format=".0f"), alt.Tooltip("dev:Q", format=".4~f")],
            **offsets,
        )
    )
    return finished(
        chart.properties(width=WIDTH, height=220),
        f"Where the good trials lie over {names[one]} and {names[other]}",
        some_of(len(drawn), len(known), "trials"),
        _silent(trials, known),
    )


def _parts(values: "pd.Series[Any]", *, log: bool) -> tuple[list[Any], list[Any]]:
    """Return the start and the end of each value's interval. On an axis of categories, both are the value's label."""
    if not is_quantity(values):
        own = placed(values).tolist()
        return own, own
    numbers = values.astype(float).to_numpy()
    low, high = numbers.min(), numbers.max()
    edges = np.geomspace(low, high, PARTS + 1) if log else np.linspace(low, high, PARTS + 1)
    at = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, PARTS - 1)
    return edges[at].tolist(), edges[at + 1].tolist()


def _silent(trials: pd.DataFrame, known: pd.DataFrame) -> str:
    lost = len(trials) - len(known)
    return not_drawn(lost, "trial", "without a score, or in which one of the axes is not active")
