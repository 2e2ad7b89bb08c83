"""Charts of the score over a cost (seconds, parameters, latency or another objective), with the Pareto front."""

from typing import Any, Final, Literal

import altair as alt
import numpy as np
import pandas as pd

from skipstack.dashboards.charts.states import LOOKS, kinds
from skipstack.dashboards.charts.theme import INK, data, finished, marks, present, thinned
from skipstack.dashboards.charts.titles import not_drawn, shown, some_of, time_unit, value_scale, value_title
from skipstack.data.tasks.measure import Measure

Cost = Literal["seconds", "parameters", "latency"]
"""A cost of a trial, as the name of its column in a frame of trials."""

TITLES: Final[dict[Cost, str]] = {
    "seconds": "of training and evaluation",
    "parameters": "parameters of one network",
    "latency": "seconds for 1,000 tokens",
}
"""The title of the x axis for each cost. For ``seconds``, the chart puts the unit of time before the title."""

MOST: Final = 1000
"""The maximum number of trials that are drawn, apart from the Pareto front."""


def score_against_cost(trials: pd.DataFrame, measure: Measure, cost: Cost = "seconds") -> Any:
    """Draw the score on dev over the cost. Each trial with a score and a positive cost is a point, and the Pareto front
    is a step line. If there are more than ``MOST`` trials, only the front and every n-th trial are drawn.

    ``trials``: a frame of trials with the columns state and dev and a column named as the ``cost``.
    """
    known = trials[np.isfinite(trials["dev"]) & trials[cost].notna() & (trials[cost] > 0)]
    unit, size = time_unit(float(known[cost].max())) if cost == "seconds" and len(known) else ("", 1.0)
    costs = known[cost].astype(float) / size
    return _drawn(trials, known, costs, measure, f"{unit} {TITLES[cost]}".strip(), "costs less", "cost")


def score_against_objective(
    trials: pd.DataFrame, measure: Measure, column: str, name: str, *, larger_is_better: bool
) -> Any:
    """Draw the chart of ``score_against_cost`` over another objective instead of a cost.

    ``column``: the column of ``trials`` with the objective. ``name``: the objective's name in the chart.
    ``larger_is_better``: whether larger values of the objective are better.
    """
    known = trials[np.isfinite(trials["dev"]) & np.isfinite(trials[column])]
    title = f"{name} ({'higher' if larger_is_better else 'lower'} is better)"
    better = f"has {'more' if larger_is_better else 'less'} {name}"
    return _drawn(trials, known, known[column], measure, title, better, name, larger_costs_less=larger_is_better)


def _drawn(
    trials: pd.DataFrame,
    known: pd.DataFrame,
    costs: "pd.Series[float]",
    measure: Measure,
    title: str,
    better: str,
    noun: str,
    *,
    larger_costs_less: bool = False,
) -> Any:
    rows = known.assign(value=known["dev"] * shown(measure), cost=costs, kind=kinds(known["state"]))
    rows = rows[["value", "cost", "kind"]]
    front = pareto_front(rows, larger_is_better=measure.factor > 0, larger_costs_less=larger_costs_less)
    drawn = thinned(rows, MOST, pd.Series(rows.index.isin(front.index)))
    there = present(LOOKS, drawn["kind"])
    wide = len(rows) > 0 and rows["cost"].min() > 0 and rows["cost"].max() > 20 * rows["cost"].min()
    x = alt.X(
        "cost:Q",
        title=title,
        axis=alt.Axis(format="~s" if len(rows) and rows["cost"].max() >= 1000 else "~r", tickCount=6),
        scale=alt.Scale(type="log") if wide else alt.Scale(zero=False),
    )
    y = alt.Y("value:Q", title=value_title(measure), scale=value_scale(measure))
    steps: Literal["step-before", "step-after"] = "step-before" if larger_costs_less else "step-after"
    layers = [
        alt.Chart(data(front)).mark_line(interpolate=steps, color=INK, strokeWidth=1.5).encode(x=x, y=y),
        alt.Chart(data(drawn)).mark_point(size=36).encode(x=x, y=y, **marks(there)),
        alt.Chart(data(front)).mark_point(filled=True, size=40, color=INK).encode(x=x, y=y),
    ]
    silent = len(trials) - len(rows)
    return finished(
        alt.layer(*layers),
        f"{len(front):,} of {len(rows):,} trials are beaten by none that {better}",
        "These are filled, on the line.",
        some_of(len(drawn), len(rows), "trials"),
        not_drawn(silent, "trial", f"without a score or a {noun}"),
    )


def pareto_front(rows: pd.DataFrame, *, larger_is_better: bool, larger_costs_less: bool = False) -> pd.DataFrame:
    """The rows on the Pareto front, the best ``cost`` first. A row is on the front if no other row with an equal or
    better cost has an equal or better ``value``. Of equal rows, only the first counts.

    ``larger_is_better``: whether a larger ``value`` is better. ``larger_costs_less``: whether a larger ``cost`` is
    better.
    """
    ascending = [not larger_costs_less, not larger_is_better]
    best_first = rows.sort_values(["cost", "value"], ascending=ascending, kind="stable")
    values = best_first["value"] if larger_is_better else -best_first["value"]
    return best_first[values > values.cummax().shift(fill_value=-np.inf)]
