"""Shuffled copies of a search, in which all axes or one axis cannot matter: values are permuted among the trials.

Importances and interactions are computed from these copies as from the search, with predicted final scores of stopped
trials. The importance of an axis stands out only if it exceeds its mean over copies in which the values of this axis
alone are permuted. The other axes keep their values there, since the more they explain, the less an axis without effect
explains by chance. An interaction stands out only if it exceeds the ``limit`` from copies in which whole points, a
value for each axis, are permuted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.exploration.additive_model import Fit, fits

TIMES: Final = 20
"""The number of copies in which whole points are permuted."""

TIMES_EACH: Final = 5
"""The number of copies for each axis in which this axis alone is permuted."""

BEYOND: Final = 5.0
"""The number of standard deviations by which a statistic has to exceed its mean over the copies to stand out.

The statistic must also exceed its largest value in any copy. It is itself the largest of many values, such as the sizes
of all interactions. If no axis matters, such a statistic is this far above its mean with a probability of 1 in 1,000
(the extreme value distribution).
"""


@dataclass(frozen=True, slots=True)
class Shuffled:
    """A shuffled copy of a search.

    ``points``: the value of each trial on each axis. ``parts``: the parts of the axes to which these values belong.
    ``model``: the additive model of the copy.
    """

    points: pd.DataFrame
    parts: pd.DataFrame
    model: Fit


def shuffled(
    scores: "pd.Series[float]",
    points: pd.DataFrame,
    whole: "pd.Series[bool]",
    reached: pd.DataFrame,
    parts: pd.DataFrame,
    *,
    along: str | None = None,
    like: Fit | None = None,
) -> list[Shuffled]:
    """Make shuffled copies of the scored trials of a search; the same search gets the same copies.

    Without ``along``, whole points are permuted, in ``TIMES`` copies. Otherwise the values of the axis ``along`` are
    permuted among the trials in which it is active, in ``TIMES_EACH`` copies. ``points``: the value of each trial on
    each axis. ``like``: as for ``additive_model.fits``. The other arguments are those of ``additive_model.fit``.
    """
    scored = scores.index[scores.notna()]
    if along is None:
        axes = list(parts.columns)
        orders = [generator(0, "shuffled", time).permutation(len(scored)) for time in range(TIMES)]
    else:
        axes, place = [along], list(parts.columns).index(along)
        active = np.flatnonzero(points.loc[scored, along].notna())
        orders = [np.arange(len(scored)) for _ in range(TIMES_EACH)]
        for time, order in enumerate(orders):
            order[active] = generator(0, "shuffled", place, time).permutation(active)
    dealt_points, dealt_parts = (
        [frame.assign(**{axis: frame[axis].array.take(order) for axis in axes}) for order in orders]
        for frame in (points.loc[scored, list(parts.columns)], parts.loc[scored])
    )
    models = fits(scores.loc[scored], whole.loc[scored], reached, dealt_parts, like=like)
    return [Shuffled(*each) for each in zip(dealt_points, dealt_parts, models, strict=True)]


def limit(largest: Sequence[float]) -> float:
    """Return the limit that a statistic has to exceed to stand out. ``largest``: the largest value in each copy."""
    return max(max(largest), float(np.mean(largest) + BEYOND * np.std(largest, ddof=1)))
