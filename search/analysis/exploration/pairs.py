"""Interactions of two axes: the mean residual of the additive model by pair of values."""

from itertools import combinations
from typing import Final

import pandas as pd

from skipstack.search.analysis.exploration.effects import Effects
from skipstack.search.analysis.exploration.levels import INACTIVE

COLUMNS: Final = ("axis_one", "part_one", "axis_two", "part_two", "n", "whole", "interaction")


def pairs(effects: Effects, parts: pd.DataFrame, whole: "pd.Series[bool]") -> pd.DataFrame:
    """A row for each pair of parts of two axes that occurs in trials; none if the model has no effect.

    ``interaction``: the mean residual of the additive model over these trials (``Effects.left``): how much better the
    two values are together than their effects predict. In a full grid it is the interaction of the analysis of
    variance. ``n``: the number of these trials; ``whole``: how many of them are whole. The residuals of others are
    small, since their final scores are predicted.
    """
    of_trials = parts.loc[effects.left.index].assign(left=effects.left, whole=whole[effects.left.index])
    axes = parts.columns if effects.of else ()
    found = [_pair(of_trials, axis, other) for axis, other in combinations(axes, 2)]
    rows = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=list(COLUMNS))
    return rows[list(COLUMNS)]


def _pair(of_trials: pd.DataFrame, axis: str, other: str) -> pd.DataFrame:
    both = of_trials[(of_trials[axis] != INACTIVE) & (of_trials[other] != INACTIVE)]
    grouped = both.groupby([axis, other])
    numbers = {"n": grouped.size(), "whole": grouped["whole"].sum(), "interaction": grouped["left"].mean()}
    cells = pd.DataFrame(numbers)
    cells.index.names = ["part_one", "part_two"]
    return cells.reset_index().assign(axis_one=axis, axis_two=other)
