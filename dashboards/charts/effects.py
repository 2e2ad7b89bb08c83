"""Effects of values as a forest: confirmed ones with their intervals, exploratory ones as what they are."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.quantities import difference_title, shown
from skipstack.dashboards.charts.theme import BLUE, ORANGE, WIDTH, Look, data, finished, symbols
from skipstack.data.tasks.measure import Measure

CONFIRMED, EXPLORED = LOOKS = (
    Look("confirmed, with its 95 % interval", BLUE),
    Look("exploration: described, not tested", ORANGE, "diamond", hollow=True),
)


def effects(frame: pd.DataFrame, measure: Measure, *, what: str = "effect on") -> Any:
    """A row for each value of each axis: a filled point on its interval, or a hollow diamond where it has none.

    ``frame`` has the columns axis, value, effect, and, of what was confirmed, low and high: the ends of the 95 %
    interval; in the measure's own unit. Rows stay in their order, below their axis. A confirmed effect without an
    interval, of a single seed, has NaN there and True in ``confirmed``, a column that may be left out.
    """
    rows = frame.dropna(subset=["effect"]).reindex(columns=["axis", "value", "effect", "low", "high", "confirmed"])
    settled = rows["confirmed"].fillna(rows["low"].notna()).astype(bool)
    rows["kind"] = settled.map({True: CONFIRMED.name, False: EXPLORED.name})
    rows[["effect", "low", "high"]] = rows[["effect", "low", "high"]].astype(float) * shown(measure)
    rows.loc[~settled, ["low", "high"]] = float("nan")  # what a search saw has no interval, whatever the frame says
    present = [look for look in LOOKS if look.name in set(rows["kind"])]
    order = list(dict.fromkeys(rows["value"]))
    y = alt.Y("value:N", title=None, sort=order, axis=alt.Axis(grid=True, domain=False, ticks=False))
    x = alt.X("effect:Q", title=difference_title(measure, what), axis=alt.Axis(format="+.4~g"))
    layers = alt.layer(
        alt.Chart().mark_rule(strokeDash=[4, 3]).encode(x=alt.datum(0)),
        alt.Chart()
        .transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.5, color=CONFIRMED.colour)
        .encode(y=y, x="low:Q", x2="high:Q"),
        alt.Chart().mark_point(size=80, strokeWidth=1.8, opacity=1).encode(y=y, x=x, **symbols(present)),
        data=data(rows),
    ).properties(width=WIDTH, height=alt.Step(20))
    facets = layers.facet(
        row=alt.Row(
            "axis:N",
            title=None,
            sort=list(dict.fromkeys(rows["axis"])),
            header=alt.Header(labelOrient="top", labelAnchor="start", labelAngle=0, labelPadding=-10),
        ),
        spacing=4,
    ).resolve_scale(y="independent")
    confirmed = int(settled.sum())
    return finished(
        facets, f"{confirmed:,} confirmed and {len(rows) - confirmed:,} exploratory effects", _lost(frame, rows)
    )


def _lost(frame: pd.DataFrame, rows: pd.DataFrame) -> str:
    lost = len(frame) - len(rows)
    return f"Not drawn: {lost:,} values without an effect." if lost else ""
