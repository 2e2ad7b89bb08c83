"""Converts the values of trials on an axis to positions in one or several dimensions, for trees and for regression."""

from math import log
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skipstack.search.analysis.exploration.forest import Array
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real


def places(column: "pd.Series[Any]", domain: Domain) -> tuple[Array, Array]:
    """Return the position of each trial in the dimensions of an axis, and the bounds of each dimension.

    ``column``: the trials' values on the axis, a column of the frame ``trials``. An axis of numbers has one dimension:
    the number, or its logarithm for ``Log``. A choice has a dimension for each tried value: 1 for trials with the
    value, otherwise 0. A choice of numbers has a single dimension, with its tried values equally spaced. So a tree can
    separate lower from higher numbers. Numbers with names are categories, since the frame has their names.
    """
    match domain:
        case Choice(numbers) if all(type(number) in (int, float) for number in numbers) and is_numeric_dtype(column):
            tried, codes_N = np.unique(column.to_numpy(float), return_inverse=True)
            return codes_N.astype(float)[:, None], np.array([[-0.5, len(tried) - 0.5]])
        case Choice():
            codes_N, values = pd.factorize(column)
            return np.eye(len(values))[codes_N], np.tile([0.0, 1.0], (len(values), 1))
        case Log(low, high):
            return np.log(column.to_numpy(float))[:, None], np.array([[log(low), log(high)]])
        case Integer(low, high) | Real(low, high):
            return column.to_numpy(float)[:, None], np.array([[low, high]], dtype=float)
