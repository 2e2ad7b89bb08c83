"""A chart that compares the gains of changes in a paper with their gains in a study."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, INK, LINE, ORANGE, Look, data, finished, named, present, symbols
from skipstack.dashboards.charts.titles import gain_title, not_drawn, shown
from skipstack.data.tasks.measure import Measure

OURS, EXPLORED, PAPER = LOOKS = (
    Look("ours, with its interval, corrected for all rows", BLUE),
    Look("ours, without an interval", ORANGE, "square"),
    Look("the paper's", INK, "diamond", hollow=True),
)


def against_paper(frame: pd.DataFrame, measure: Measure, *, split: str = "test") -> Any:
    """Draw two gains for each row of a paper's table except the base. A hollow diamond is the paper's gain over its
    base, and a filled mark is the study's gain over its own base.

    Columns of ``frame``: ``row`` (the name of the table's row), ``paper`` and ``ours`` (the two gains on ``split``),
    ``low`` and ``high`` (the ends of the interval of the study's gain). Gains are unscaled (0.01 for a point of
    accuracy). Unknown values are NaN.
    """
    columns = ["paper", "ours", "low", "high"]
    rows = frame.reindex(columns=["row", *columns]).astype(dict.fromkeys(columns, float))
    rows[columns] *= shown(measure)
    known = rows.dropna(subset=["paper", "ours"], how="all")
    rows = known[(known["paper"] != 0) | (known["ours"] != 0)].copy()  # without the base
    rows["kind"] = rows["low"].notna().map({True: OURS.name, False: EXPLORED.name})
    ours = rows.dropna(subset=["ours"])
    both = ours.dropna(subset=["paper"])
    theirs = rows.dropna(subset=["paper"]).assign(kind=PAPER.name)
    there = present(LOOKS, [*ours["kind"], *theirs["kind"]])
    y = alt.Y("row:N", title=None, scale=named(rows["row"]), axis=alt.Axis(grid=True, domain=False, ticks=False))
    x = alt.X("at:Q", title=gain_title(measure, split), axis=alt.Axis(format="+.4~g", tickCount=6))
    settled = ours.dropna(subset=["low"])
    between = alt.Chart(data(both)).mark_rule(color=LINE, strokeWidth=1.5).encode(y=y, x="paper:Q", x2="ours:Q")
    interval = alt.Chart(data(settled)).mark_rule(strokeWidth=2.5, color=OURS.colour)
    layers = [
        alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0)),
        *([between] if len(both) else []),
        *([interval.encode(y=y, x="low:Q", x2="high:Q")] if len(settled) else []),
        alt.Chart(data(pd.concat([ours.assign(at=ours["ours"]), theirs.assign(at=theirs["paper"])])))
        .mark_point(size=80, strokeWidth=1.8)
        .encode(y=y, x=x, **symbols(there, columns=1)),
    ]
    agree = int((both["paper"] * both["ours"] > 0).sum())
    lost = len(frame) - len(known)
    return finished(
        alt.layer(*layers).properties(height=20 * rows["row"].nunique()),
        f"{agree:,} of {len(both):,} gains have the sign of the paper's",
        "Gains over the base, the paper's over its own.",
        not_drawn(lost, "row", "without a gain"),
    )
