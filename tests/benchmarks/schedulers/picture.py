"""The picture of the comparison: a row a method, a point a study."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import INK, WIDTH, data, finished, looks, named, symbols
from skipstack.search.api.simulation.repeats import BUDGET
from tests.benchmarks.schedulers.measured import Found

BEYOND: Final = 1.06
"""Where a point stands that lies beyond the end of the study."""


def picture(rows: Sequence[Found]) -> Any:
    """The medians over the seeds, and a line at a fifth of the grid."""
    medians = [BEYOND if row.quartiles.median is None else row.quartiles.median for row in rows]
    frame = pd.DataFrame(
        {"method": [row.method.strip("*") for row in rows], "kind": [row.study for row in rows], "share": medians}
    )
    axis = alt.Axis(
        values=[0, BUDGET, 0.4, 0.6, 0.8, BEYOND],
        labelExpr="datum.value > 1 ? 'not found' : format(datum.value, '.0%')",
    )
    x = alt.X("share:Q", title="epochs until found, of the grid's", axis=axis, scale=alt.Scale(domain=[0, BEYOND]))
    y = alt.Y(
        "method:N",
        title=None,
        scale=named(frame["method"]),
        axis=alt.Axis(grid=True, domain=False, ticks=False, labelLimit=300),
    )
    points = (
        alt.Chart()
        .mark_point(size=70, strokeWidth=1.8, opacity=1)
        .encode(y=y, x=x, **symbols(looks(list(dict.fromkeys(frame["kind"])))))
    )
    line = alt.Chart().mark_rule(strokeDash=[4, 3], color=INK).encode(x=alt.datum(BUDGET))
    chart = alt.layer(line, points, data=data(frame)).properties(width=WIDTH, height=alt.Step(24))
    return finished(
        chart,
        "How soon each search finds the best of a recorded study",
        "Epochs until what would be returned is within 0.1 points of the best, as a share of those of all trials "
        "trained to their ends: medians over 20 seeds, one worker. The line is at a fifth.",
    )
