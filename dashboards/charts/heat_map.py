"""Draws the cells of heat maps whose values are above and below 0."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, LINE, ORANGE, PAPER, data


def signed(rows: pd.DataFrame, value: str, most: float, digits: str) -> Any:
    """Draw the cells of a heat map of values above and below 0. Each cell shows its value, and ``n`` below it.

    The sign of the value gives the colour, and its absolute value the opacity, so that 0 looks like the page, light or
    dark. Text has an outline in the colour of the page. Rows without a value have no cell.

    ``rows``: the data, with the column ``n``. ``value``: the column of values. ``most``: the largest absolute value.
    ``digits``: the number format of values.
    """
    known = alt.Chart(data(rows)).transform_filter(f"isValid(datum.{value})")
    blue = alt.condition(f"datum.{value} > 0", alt.value(BLUE), alt.value(ORANGE))
    size = alt.FillOpacity("size:Q", scale=alt.Scale(domain=[0, most], range=[0, 1]), legend=None)
    fields = known.transform_calculate(size=f"abs(datum.{value})").mark_rect(stroke=LINE)
    layers = [fields.encode(fill=blue, fillOpacity=size)]
    texts: tuple[tuple[alt.Text, dict[str, Any]], ...] = (
        (alt.Text(f"{value}:Q", format=digits), {"dy": -5}),
        (alt.Text("n:Q", format=","), {"dy": 8, "fontSize": 10}),
    )
    for text, place in texts:
        layers.append(known.mark_text(stroke=PAPER, strokeWidth=3, **place).encode(text=text))
        layers.append(known.mark_text(**place).encode(text=text))
    return alt.layer(*layers)
