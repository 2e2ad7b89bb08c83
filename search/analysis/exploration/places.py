"""Converts the values of trials on an axis to positions in one or several dimensions, for trees and for regression."""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skipstack.search.analysis.exploration.forest import Array
from skipstack.search.analysis.frames.trials import cell
from skipstack.spaces.domains import Choice, Domain, Ordinal


def places(column: "pd.Series[Any]", domain: Domain) -> tuple[Array, Array]:
    """Return the position of each trial in the dimensions of an axis, and the bounds of each dimension.

    ``column``: the trials' values on the axis, a column of the frame ``trials``. An axis of numbers or of ordinal
    values has one dimension: their coordinates (``Domain.coordinate``). A choice has a dimension for each tried value:
    1 for trials with the value, otherwise 0. A choice of numbers has a single dimension, with its tried values equally
    spaced. So a tree can separate lower from higher numbers. Numbers with names are categories, since the frame has
    their names.
    """
    match domain:
        case Ordinal(values):
            coordinates = {cell(domain, value): domain.coordinate(value) for value in values}
            half = 0.5 / (domain.steps or 1)
            found = [coordinates[value] for value in column.tolist()]
            return np.array(found)[:, None], np.array([[-half, 1 + half]])
        case Choice(numbers) if all(type(number) in (int, float) for number in numbers) and is_numeric_dtype(column):
            tried, codes_N = np.unique(column.to_numpy(float), return_inverse=True)
            return codes_N.astype(float)[:, None], np.array([[-0.5, len(tried) - 0.5]])
        case Choice():
            codes_N, known = pd.factorize(column)
            return np.eye(len(known))[codes_N], np.tile([0.0, 1.0], (len(known), 1))
        case _:
            found = [domain.coordinate(value) for value in column.tolist()]
            return np.array(found, dtype=float)[:, None], np.array([[0.0, 1.0]])
