"""A forest plot of effects: confirmed ones with intervals, exploratory ones with the bands of a model."""

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, LETTERS, ORANGE, WIDTH, Look, data, finished, named, symbols
from skipstack.dashboards.charts.titles import difference_title, not_drawn, shown
from skipstack.data.tasks.measure import Measure

CONFIRMED, EXPLORED = LOOKS = (
    Look("confirmed, with its 95 % interval", BLUE),
    Look("exploration, with the 95 % band of a model", ORANGE, "diamond", hollow=True),
)


def effects(frame: pd.DataFrame, measure: Measure, *, what: str = "effect on", told: str = "") -> Any:
    """A row for each value of each axis: a filled point with its interval, or a hollow diamond with its thin band.

    ``frame`` has the columns axis, value, effect, low and high: the ends of the 95 % interval, or of the band of an
    exploratory effect; in the measure's own unit. Rows stay in their order, below their axis. ``confirmed``, a column
    that may be left out where none is: a confirmed effect of a single seed has no interval, and NaN there. ``told``: a
    subtitle instead of the number of effects of each kind.
    """
    rows = frame.dropna(subset=["effect"]).reindex(columns=["axis", "value", "effect", "low", "high", "confirmed"])
    settled = rows["confirmed"].eq(True)
    rows["kind"] = settled.map({True: CONFIRMED.name, False: EXPLORED.name})
    rows[["effect", "low", "high"]] = rows[["effect", "low", "high"]].astype(float) * shown(measure)
    present = [look for look in LOOKS if look.name in set(rows["kind"])]
    axes = list(dict.fromkeys(rows["axis"]))
    title = difference_title(measure, what)
    panels = [_panel(rows[rows["axis"] == axis], present, title if axis == axes[-1] else None) for axis in axes]
    confirmed = int(settled.sum())
    lost = len(frame) - len(rows)
    return finished(
        alt.vconcat(*panels, spacing=8).resolve_scale(x="shared"),
        told or f"{confirmed:,} confirmed and {len(rows) - confirmed:,} exploratory effects",
        not_drawn(lost, "value", "without an effect"),
    )


def _panel(rows: pd.DataFrame, present: Sequence[Look], title: str | None) -> Any:
    """One axis of the study; the last one has the ``title`` and the numbers of the x axis."""
    y = alt.Y("value:N", title=None, scale=named(rows["value"]), axis=alt.Axis(grid=True, domain=False, ticks=False))
    foot = alt.Axis(format="+.4~g", tickCount=6) if title else None
    x = alt.X("effect:Q", title=title, axis=foot)
    intervals = [
        alt.Chart()
        .transform_filter(f"datum.kind == '{look.name}'")
        .transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1 if look.hollow else 2.5, color=look.colour)
        .encode(y=y, x=alt.X("low:Q", title=title, axis=foot), x2="high:Q")
        for look in present
        if rows.loc[rows["kind"] == look.name, "low"].notna().any()
    ]
    return alt.layer(
        alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.X(datum=0, title=title, axis=foot)),
        *intervals,
        alt.Chart().mark_point(size=80, strokeWidth=1.8, opacity=1).encode(y=y, x=x, **symbols(present)),
        data=data(rows),
    ).properties(
        width=WIDTH,
        height=alt.Step(20),
        title=alt.TitleParams(textwrap.wrap(rows["axis"].iloc[0], LETTERS - 16), fontSize=12, offset=2, frame="group"),
    )
