"""Draws the cells of heat maps whose values are above and below 0."""

from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, LINE, ORANGE, data

STRONGEST: Final = 0.65
"""The largest opacity of a cell, so that text has a contrast of 4.5 to it, light or dark."""


def signed(rows: pd.DataFrame, value: str, most: float, digits: str) -> Any:
    """Draw the cells of a heat map of values above and below 0. Each cell shows its value, and ``n`` below it.

    The sign of the value gives the colour, and its absolute value the opacity, so that 0 looks like the page, light or
    dark. Rows without a value have no cell.

    ``rows``: the data, with the column ``n``. ``value``: the column of values. ``most``: the largest absolute value.
    ``digits``: the number format of values.
    """
    known = alt.Chart(data(rows)).transform_filter(f"isValid(datum.{value})")
    blue = alt.condition(f"datum.{value} > 0", alt.value(BLUE), alt.value(ORANGE))
    size = alt.FillOpacity("size:Q", scale=alt.Scale(domain=[0, most], range=[0, STRONGEST]), legend=None)
    fields = known.transform_calculate(size=f"abs(datum.{value})").mark_rect(stroke=LINE)
    return alt.layer(
        fields.encode(fill=blue, fillOpacity=size),
        known.mark_text(dy=-5).encode(text=alt.Text(f"{value}:Q", format=digits)),
        known.mark_text(dy=8, fontSize=10).encode(text=alt.Text("n:Q", format=",")),
    )
