"""Compiled searches: for distinct rows, with their sums (``models/kernels/rows.py``), and for distinct forms
(``models/layers/lookup.py``).

Axes: N positions, U distinct rows, E entries of a row; R lanes (a lane is one seed's copy of the network) of P tokens.
"""

import numpy as np
from numpy.typing import NDArray

from skipstack.models.kernels.compiled.rowwise import Array, add
from skipstack.models.kernels.compiling import compiled


@compiled
def summed(lane_and_row_2N: NDArray[np.int64], values_NE: Array, size: int) -> tuple[NDArray[np.int64], Array]:
    """Finds the distinct rows in ascending order: lane_and_row_2U. Sums the values at each row's positions, from the
    first to the last: values_UE. Lanes have ``size`` rows each.
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


@compiled
def distinct(forms_RP: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Finds the distinct forms (words as written) of each lane, in ascending order and padded with form 0. Also returns
    the index of each token's form in the flattened array of these forms.
    """
    found_RP, place_RP, most = np.zeros_like(forms_RP), np.empty_like(forms_RP), 0
    for r in range(len(forms_RP)):
        order_P, count = np.argsort(forms_RP[r]), 0
        for p in range(len(order_P)):
            form = forms_RP[r, order_P[p]]
            if p == 0 or form != found_RP[r, count - 1]:
                found_RP[r, count] = form
                count += 1
            place_RP[r, order_P[p]] = count - 1
        most = max(most, count)
    for r in range(len(forms_RP)):
        place_RP[r] += r * most
    return found_RP[:, :most].copy(), place_RP
