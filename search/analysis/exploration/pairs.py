"""Interactions of two axes: the mean residuals of the additive model, by pair of values.

Array legend: N trials in the model; P parts of all axes, a part being one value of a choice or a range of numbers.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from skipstack.search.analysis.exploration.additive_model import Fit
from skipstack.search.analysis.exploration.effects import LEAST_WHOLE
from skipstack.search.analysis.exploration.levels import INACTIVE
from skipstack.search.analysis.exploration.shuffled import Shuffled, limit

COLUMNS: Final = ("axis_one", "part_one", "axis_two", "part_two", "n", "whole", "interaction", "stands_out")


def pairs(
    model: Fit,
    parts: pd.DataFrame,
    whole: "pd.Series[bool]",
    by_chance: Sequence[Shuffled],
) -> pd.DataFrame:
    """Return a frame with a row for each pair of parts of two axes that occurs in trials; empty if the model has no
    effects.

    ``model``: the additive model of the search. ``parts``, ``whole``: as for ``additive_model.fit``. ``by_chance``:
    shuffled copies of the search, in which no axis matters (``shuffled.py``).

    The frame has these columns:

    ``axis_one``, ``part_one``, ``axis_two``, ``part_two``: two axes, and the numbers of their parts.
    ``n``, ``whole``: the number of trials with both parts, and the number of whole trials (trained to their ends) among
    them. ``interaction``: the mean residual of the additive model (``Fit.left``) over the whole trials with both parts.
    It says how much better the two values are together than their effects predict. NaN with fewer than ``LEAST_WHOLE``
    whole trials. In a full grid without shrinkage it is the interaction of the analysis of variance.
    ``stands_out``: whether the interaction is larger than the limit from the pairs of the shuffled copies
    (``shuffled.limit``). For this, its size is multiplied by the root of ``whole`` and divided by the model's sigma.
    """
    if not model.keys:
        return pd.DataFrame(columns=list(COLUMNS))
    own = _Sums(model, parts, whole)
    least = limit([_Sums(each.model, each.parts, whole).largest for each in by_chance])
    rows = [
        {
            "axis_one": own.keys[one][0],
            "part_one": own.keys[one][1],
            "axis_two": own.keys[two][0],
            "part_two": own.keys[two][1],
            "n": int(own.trials_PP[one, two]),
            "whole": int(own.whole_PP[one, two]),
            "interaction": own.left_PP[one, two],
            "stands_out": bool(own.sizes_PP[one, two] > least),
        }
        for one, two in own.pairs
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


class _Sums:
    """The numbers of trials of each pair of parts, and the mean residuals of the trials trained to their ends.

    ``keys``: the parts, each with its axis. ``pairs``: the pairs of parts of two axes that occur in trials, as indices
    into ``keys``. ``trials_PP``, ``whole_PP``: the numbers of all trials and of whole trials of a pair. ``left_PP``:
    the mean residual of the whole trials. ``sizes_PP``: the absolute value of ``left_PP`` times sqrt(``whole_PP``) /
    sigma.
    """

    def __init__(self, model: Fit, parts: pd.DataFrame, whole: "pd.Series[bool]") -> None:
        of_trials = parts.loc[model.left.index]
        self.keys = [(str(axis), part) for axis in parts.columns for part in sorted(set(of_trials[axis]) - {INACTIVE})]
        has_NP = np.column_stack([of_trials[axis] == part for axis, part in self.keys]).astype(float)
        ends_N = whole.loc[model.left.index].to_numpy(dtype=float)
        self.trials_PP = has_NP.T @ has_NP
        self.whole_PP = has_NP.T @ (ends_N[:, None] * has_NP)
        sum_PP = has_NP.T @ ((ends_N * model.left.to_numpy())[:, None] * has_NP)
        enough_PP = self.whole_PP >= LEAST_WHOLE
        self.left_PP = np.where(enough_PP, sum_PP / np.maximum(self.whole_PP, 1.0), np.nan)
        self.sizes_PP = np.abs(self.left_PP) * np.sqrt(self.whole_PP) / (model.deviation or 1.0)
        self.pairs = [
            (one, two)
            for one, (axis, _) in enumerate(self.keys)
            for two, (other, _) in enumerate(self.keys)
            if one < two and axis != other and self.trials_PP[one, two]
        ]

    @property
    def largest(self) -> float:
        """The largest of ``sizes_PP`` over all pairs; 0 if no pair has an interaction."""
        sizes = [self.sizes_PP[pair] for pair in self.pairs if not np.isnan(self.sizes_PP[pair])]
        return max(sizes, default=0.0)
