"""The positions of trials in the dimensions of an axis."""

from math import log
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skipstack.search.analysis.exploration.forest import Array
from skipstack.spaces.domains import Choice, Domain, Integer, Log, Real


def places(column: "pd.Series[Any]", domain: Domain) -> tuple[Array, Array]:
    """The position of each trial in the dimensions of an axis, and the bounds of each dimension.

    A choice has a dimension for each tried value: 1 where a trial has it, else 0. A choice of numbers has a single
    dimension, in which its tried values are equally far apart: a cut separates lower from higher ones, as for any
    number. Numbers to which the study gives names are categories, too: a frame has their names.
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
