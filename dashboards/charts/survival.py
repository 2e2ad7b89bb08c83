"""A chart of the trials stopped at each rung, and of how well scores at the rung predicted the final ranks."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import (
    BLUE,
    INK,
    LINE,
    ORANGE,
    WIDTH,
    Look,
    colours,
    data,
    finished,
    whole_numbers,
)

ON, STOPPED = LOOKS = (Look("went on", BLUE), Look("stopped there", ORANGE))


def survival(frame: pd.DataFrame) -> Any:
    """Draw a bar for each rung, divided into continued and stopped trials. Rank correlations, if known, are below.

    Columns of ``frame``: ``rung`` (its epoch), ``n`` (the number of trials that reached the rung),
    ``stopped`` (the number of trials stopped at it), and ``correlation``: Spearman's rank correlation between the
    scores at the rung and the final scores, over the trials that were trained to their ends. It is NaN if there are too
    few such trials.
    """
    counts = frame.assign(on=frame["n"] - frame["stopped"])
    rows = counts.melt(["rung"], ["on", "stopped"], "which", "count")
    rows["kind"] = rows["which"].map({"on": ON.name, "stopped": STOPPED.name})
    rows["place"] = rows["which"].map({"on": 0, "stopped": 1})
    several = bool(frame["correlation"].notna().any())
    order, level = frame["rung"].tolist(), alt.Axis(labelAngle=0)
    under = alt.X("rung:O", title="rung (epochs)", sort=order, axis=level)
    x = alt.X("rung:O", title=None, sort=order, axis=level) if several else under
    bars = (
        alt.Chart(data(rows))
        .mark_bar(stroke=INK, strokeWidth=0.8)
        .encode(
            x=x,
            y=alt.Y("count:Q", title="trials", axis=whole_numbers([0, counts["n"].max()])),
            color=alt.Color("kind:N", scale=colours(LOOKS)),
            order="place:O",
        )
    )
    numbers = alt.Chart(data(counts)).mark_text(dy=-7).encode(x=x, y="n:Q", text=alt.Text("n:Q", format=",d"))
    panels = [alt.layer(bars, numbers).properties(width=WIDTH, height=180)]
    panels += [_correlations(frame, under)] if several else []
    return finished(
        alt.vconcat(*panels, spacing=10),
        f"{int(frame['stopped'].sum()):,} of {int(frame['n'].max()):,} trials were stopped at a rung",
        "Below: rank correlation of scores at the rung with final ones." if several else "",
    )


def _correlations(frame: pd.DataFrame, x: alt.X) -> Any:
    """Draw the rank correlation at each rung. At 1, the scores at the rung rank the trials as the final scores do. At
    0, they say nothing about the final ranking.
    """
    y = alt.Y(
        "correlation:Q", title="rank correlation", scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(values=[-1, 0, 1])
    )
    known = frame.dropna(subset=["correlation"])
    points = alt.Chart(data(known)).encode(x=x, y=y)
    return alt.layer(
        alt.Chart(data(frame)).mark_rule(color=LINE).encode(x=x, y=alt.datum(0)),
        points.mark_line(color=INK, strokeWidth=1),
        points.mark_point(filled=True, color=INK, size=50),
        points.mark_text(dy=-11).encode(text=alt.Text("correlation:Q", format="+.2f")),
    ).properties(width=WIDTH, height=110)
