"""A chart that compares searches of different sizes by the best score expected after each number of trials."""

from typing import Any, Literal

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import data, finished, looks, strokes, whole_numbers
from skipstack.dashboards.charts.titles import decimals, value_title
from skipstack.data.tasks.measure import Measure


def expected_best(frame: pd.DataFrame, measure: Measure, *, cost: Literal["trials", "epochs"] = "trials") -> Any:
    """Draw the expected best score over the number of trials or epochs: a line for each study, with a mark at its end.

    Columns of ``frame``: ``trials``, ``expected_best`` (a score: unscaled, and larger if better), ``study`` (if there
    are several studies), and ``epochs`` (if ``cost`` is ``epochs``). ``cost``: the column on the x axis. Use ``epochs``
    if trials train longer in one study than in another.
    """
    named = frame if "study" in frame else frame.assign(study="")
    rows = named.dropna(subset=["expected_best"]).assign(value=lambda rows: rows["expected_best"] * measure.factor)
    studies = looks(rows["study"].unique().tolist())
    several = len(studies) > 1
    x = alt.X(f"{cost}:Q", title=cost, axis=whole_numbers(rows[cost]), scale=alt.Scale(zero=False))
    y = alt.Y("value:Q", title=f"expected best {value_title(measure)}", scale=alt.Scale(zero=False))
    look = strokes(studies, "study:N", series=True)
    lines = alt.Chart(data(rows)).mark_line(strokeWidth=2).encode(x=x, y=y, **look)
    ends = [
        alt.Chart(data(own.loc[[own[cost].idxmax()]]))
        .mark_point(filled=True, size=70, color=study.colour, shape=study.shape)
        .encode(x=x, y=y)
        for study in studies
        for own in [rows[rows["study"] == study.name]]
    ]  # each in a layer of its own: in a single layer, the shapes of points would replace the lines in the legend
    lost = len(frame) - len(rows)
    return finished(
        alt.layer(lines, *ends),
        _half(rows, cost) if not several else f"The best that one expects after so many {cost}",
        "Of the study's trials, drawn in any order." if not several else "Of each study's trials, drawn in any order.",
        f"Not drawn: {lost:,} numbers that are not known." if lost else "",
    )


def _half(rows: pd.DataFrame, cost: str) -> str:
    """The chart's title for a single study: the best scores expected after half the cost and after the whole cost."""
    if not len(rows):
        return f"The best that one expects after so many {cost}"
    places = (rows[cost].argmax(), (rows[cost] - rows[cost].max() / 2).abs().argmin())
    most, half = (rows.iloc[int(place)] for place in places)
    digits = decimals([half["value"], most["value"]])
    found, best = (f"{each['value']:.{digits}f}" for each in (half, most))
    return f"{half[cost]:,.0f} of {most[cost]:,.0f} {cost} would have found {found} instead of {best}, on average"
