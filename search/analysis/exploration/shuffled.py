"""Shuffled copies of a search, in which no axis matters: the points are assigned at random to the curves of the trials.

All statistics about axes are computed from these copies, too, with the predicted ends of stopped trials. The statistics
of the search itself have to exceed those of the copies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.exploration.additive_model import Fit, fits

TIMES: Final = 20
"""Number of shuffled copies."""

BEYOND: Final = 5.0
"""Number of standard deviations by which a statistic has to exceed its mean over the copies to stand out: the largest
of many is so far above it in one of 1,000 searches (the extreme value distribution).
"""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """A shuffled copy. ``points``: the value of each trial on each axis; ``parts``: the parts of these values."""

    points: pd.DataFrame
    parts: pd.DataFrame
    model: Fit


def shuffled(
    trials: pd.DataFrame, whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame
) -> list[Shuffled]:
    """Make ``TIMES`` copies, the same for the same study. ``parts``: from ``levels.levels``, a column for each axis."""
    scored, axes = trials.index[trials["score"].notna()], list(parts.columns)
    points, own = trials.loc[scored, axes], parts.loc[scored]
    orders = [generator(0, "shuffled", time).permutation(len(scored)) for time in range(TIMES)]
    dealt = [own.iloc[order].set_axis(scored) for order in orders]
    models = fits(trials.loc[scored, "score"], whole.loc[scored], reached, dealt)
    return [
        Shuffled(points.iloc[order].set_axis(scored), each, model)
        for order, each, model in zip(orders, dealt, models, strict=True)
    ]


def limit(largest: Sequence[float]) -> float:
    """The limit that a statistic has to exceed to stand out; ``largest``: the largest one in each copy."""
    return max(max(largest), float(np.mean(largest) + BEYOND * np.std(largest, ddof=1)))
