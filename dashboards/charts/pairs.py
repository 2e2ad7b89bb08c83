"""A chart of interactions: the joint effect of two values beyond the sum of their separate effects."""

from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.heat_map import signed
from skipstack.dashboards.charts.theme import finished, named
from skipstack.dashboards.charts.titles import decimals, difference_title, shown, signed_text, some_of
from skipstack.data.tasks.measure import Measure

MOST: Final = 6
"""The maximum number of pairs of axes that are drawn."""


def pairs(frame: pd.DataFrame, measure: Measure) -> Any:
    """Draw a heat map for each pair of axes. A cell shows the interaction of two values, and is empty if none is known.
    Of more than ``MOST`` pairs, those with the strongest interactions are drawn.

    Columns of ``frame``: ``axis_one``, ``value_one``, ``axis_two``, ``value_two``, ``interaction`` (unscaled: 0.01 for
    a point of accuracy), and ``n`` (the number of trials that have both values).
    """
    rows = frame.assign(
        pair=frame["axis_one"] + " × " + frame["axis_two"],
        points=frame["interaction"] * shown(measure),
    )
    strength = rows.groupby("pair")["points"].agg(lambda points: points.abs().max()).dropna()
    strongest = strength.sort_values(ascending=False, kind="stable").index[:MOST].tolist()
    drawn = rows[rows["pair"].isin(strongest)]
    most = float(drawn["points"].abs().max()) if len(drawn) else 1.0
    maps = [_map(drawn[drawn["pair"] == pair], most or 1.0) for pair in strongest]
    return finished(
        alt.vconcat(*maps, spacing=16),
        _told(drawn, measure),
        f"In each field: the {difference_title(measure, 'interaction in')}, and below it the trials with both values.",
        some_of(len(strongest), rows["pair"].nunique(), "pairs of axes"),
    )


def _told(rows: pd.DataFrame, measure: Measure) -> str:
    """The chart's title: the strongest interaction, or a general title if none is known."""
    if not rows["points"].notna().any():
        return "What two values do together beyond what each does alone"
    most = rows.iloc[int(rows["points"].abs().fillna(-1).argmax())]
    one, two = (f"{most[f'axis_{which}']} {most[f'value_{which}']}" for which in ("one", "two"))
    return f"{one} and {two} together: {signed_text(most['points'], measure)} beyond what each does alone"


def _map(rows: pd.DataFrame, most: float) -> Any:
    """Draw the heat map of one pair of axes. ``most``: the limit of the colour scale, the same in all heat maps."""
    one, two = rows["axis_one"].iloc[0], rows["axis_two"].iloc[0]
    x = alt.X("value_one:N", title=one, scale=named(rows["value_one"]), axis=alt.Axis(labelAngle=0))
    above = alt.Axis(titleAngle=0, titleAnchor="end", titleAlign="right", titleBaseline="bottom", titleX=-6, titleY=-6)
    y = alt.Y("value_two:N", title=two, scale=named(rows["value_two"]), axis=above)
    return (
        signed(rows, "points", most, f"+.{decimals([0.0, most])}f")
        .encode(x=x, y=y)
        .properties(width=56 * rows["value_one"].nunique(), height=34 * rows["value_two"].nunique())
    )
