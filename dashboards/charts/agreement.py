"""A heat map that shows whether short trainings rank the trials in the same way as long ones."""

from typing import Any

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.heat_map import signed
from skipstack.dashboards.charts.theme import finished
from skipstack.data.basis.counted import counted


def agreement(frame: pd.DataFrame) -> Any:
    """Draw a heat map of the rank correlations between scores after different numbers of epochs.

    ``frame``: the result of ``search.analysis.exploration.rungs.agreement``, with the columns ``one`` and ``other``
    (the two numbers of epochs), ``n`` (the number of trials) and ``correlation``.
    """
    epochs = sorted(set(frame["one"]))
    return finished(
        signed(frame, "correlation", 1.0, "+.2f")
        .encode(
            x=alt.X("one:O", title="epochs", sort=epochs, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("other:O", title="epochs", sort=epochs[::-1]),
        )
        .properties(width=44 * len(epochs), height=34 * len(epochs)),
        _told(frame),
        "1: the same ranks; 0: short trainings do not predict long ones. Below it: trials trained this long.",
    )


def _told(frame: pd.DataFrame) -> str:
    """The chart's title, with the rank correlation between scores after the fewest epochs and after the most."""
    known = frame[frame["correlation"].notna() & (frame["one"] < frame["other"])]
    if not len(known):
        return "Rank correlation of scores after different numbers of epochs"
    first = known[known["one"] == known["one"].min()].sort_values("other").iloc[-1]
    after = f"after {counted(int(first['one']), 'epoch')} and after {int(first['other'])}"
    return f"Scores {after} have a rank correlation of {first['correlation']:+.2f}"
