"""The same search in which no axis matters: points are dealt anew to the curves of the trials.

Whatever is said of axes is computed from such searches, too, ends of stopped trials and all. What the search itself
says has to exceed what these say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.exploration.additive_model import Fit, fits

TIMES: Final = 20
"""How many are made."""

BEYOND: Final = 5.0
"""How many standard deviations above its mean by chance what stands out has to be: the largest of many is so far above
it in one of 1,000 searches (the extreme value distribution).
"""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """One of them. ``points``: of each trial the value of each axis; ``parts``: their parts."""

    points: pd.DataFrame
    parts: pd.DataFrame
    model: Fit


def shuffled(
    trials: pd.DataFrame, whole: "pd.Series[bool]", reached: pd.DataFrame, parts: pd.DataFrame
) -> list[Shuffled]:
    """``TIMES`` of them, the same for the same study. ``parts``: from ``levels.levels``, a column for each axis."""
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
    """What something has to exceed in order to stand out; ``largest``: the largest one in each search by chance."""
    return max(max(largest), float(np.mean(largest) + BEYOND * np.std(largest, ddof=1)))
