"""The colour and shape of a trial's mark in each state, the same in all charts."""

from typing import Final

import pandas as pd

from skipstack.dashboards.charts.theme import BLUE, ORANGE, PURPLE, RED, Look

WHOLE, STOPPED, RUNNING, FAULTY = LOOKS = (
    Look("trained to its end", BLUE),
    Look("stopped", ORANGE, "triangle-up"),
    Look("not at its end", PURPLE, "square"),
    Look("failed or diverged", RED, "cross"),
)

NAMES: Final = {
    "completed": WHOLE.name,
    "stopped": STOPPED.name,
    **dict.fromkeys(("running", "paused", "waiting", "training", "measuring", "interrupted"), RUNNING.name),
}
"""The name of the look (colour and shape) of a trial's mark, by the trial's state. All other states have the look
``FAULTY``.
"""


def kinds(states: "pd.Series[str]") -> "pd.Series[str]":
    """Convert the states of trials into the names of their looks (``NAMES``)."""
    return states.map(NAMES).fillna(FAULTY.name)
