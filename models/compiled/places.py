"""Rows that were read at several places, compiled: what ``models/rows.py`` defines. N places, U distinct rows."""

import numpy as np
from numpy.typing import NDArray

from skipstack.models.compiled.compiling import compiled
from skipstack.models.compiled.steps import Array, add


@compiled
def summed(lane_and_row_2N: NDArray[np.int64], values_NE: Array, size: int) -> tuple[NDArray[np.int64], Array]:
    """lane_and_row_2U, ascending, of lanes that have ``size`` rows each, and the sum of the values at the places of
    each, in their order.
    """
    at_N = lane_and_row_2N[0] * size + lane_and_row_2N[1]
    order_N, rank_N, count = np.argsort(at_N), np.empty_like(at_N), 0
    for n in range(len(at_N)):
        count += n == 0 or at_N[order_N[n]] != at_N[order_N[n - 1]]
        rank_N[order_N[n]] = count - 1
    lane_and_row_2U, values_UE = np.empty((2, count), np.int64), np.zeros((count, values_NE.shape[1]), values_NE.dtype)
    for n in range(len(at_N)):
        lane_and_row_2U[:, rank_N[n]] = lane_and_row_2N[:, n]
        add(values_UE[rank_N[n]], values_NE[n])
    return lane_and_row_2U, values_UE
