"""A chart of the importance of each axis, beside the importance expected by chance."""

from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, LINE, ORANGE, Look, data, finished, marks, named

OVERLAP: Final = "Shares overlap: that of an axis which only some trials have comes from these trials alone."
"""The reason why shares may add up to more than 100 %."""

SEARCH, CHANCE = LOOKS = (Look("of this search", BLUE), Look("by chance", ORANGE, "diamond"))


def importance(frame: pd.DataFrame) -> Any:
    """Draw a row for each axis, with its importance and the importance expected by chance.

    Columns of ``frame``: ``axis``, ``fanova`` and ``by_chance`` (the two importances, as fractions in [0, 1] of the
    variance of the scores), and ``stands_out`` (whether the axis is shown to matter). Rows keep their order.
    """
    rows = frame.dropna(subset=["fanova"])
    order = rows["axis"].tolist()
    apart = rows[rows["stands_out"].astype(bool)].sort_values("fanova", ascending=False)["axis"].tolist()
    shares = rows.melt("axis", ["fanova", "by_chance"], "of", "share").assign(
        share=lambda shares: 100 * shares["share"],
        of=lambda shares: shares["of"].map({"fanova": SEARCH.name, "by_chance": CHANCE.name}),
    )
    y = alt.Y(
        "axis:N", title=None, scale=named(order), axis=alt.Axis(domain=False, ticks=False, labelLimit=0, labelPadding=8)
    )
    x = alt.X("share:Q", title="share of the variance of scores (%, fANOVA)", scale=alt.Scale(domainMin=0, zero=True))
    spans = alt.Chart().mark_rule(color=LINE, strokeWidth=2).encode(y=y, x="min(share):Q", x2="max(share):Q")
    points = alt.Chart().mark_point(filled=True, size=90).encode(y=y, x=x, **marks(LOOKS, "of:N"))
    lost = len(frame) - len(rows)
    return finished(
        alt.layer(spans, points, data=data(shares)).properties(height=24 * len(order)),
        f"In the search, {apart[0]} is shown to matter" if apart else "In the search alone, no axis is shown to matter",
        f"{len(apart)} of {len(rows)} axes {'stands' if len(apart) == 1 else 'stand'} out."
        if apart
        else "Scores differ along none by more than chance alone may make them.",
        OVERLAP if round(rows["fanova"].sum(), 3) > 1 else "",
        f"Not drawn: {lost:,} axes whose share is not known." if lost else "",
    )
