"""Sum, maximum and exponentials of a softmax's row, written so that several of its numbers are computed at once."""

import math
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import overload

from skipstack.models.kernels.compiled.arithmetic import ONE, parts_of_exp
from skipstack.models.kernels.compiled.rowwise import Array, zero_row
from skipstack.models.kernels.compiling import inlined

SIDE_BY_SIDE: Final = 16
"""Number of sums, or maxima, that are computed side by side and combined at the end."""
LEAST: Final = np.float32(-87)
"""About the least x for which exp(x) is a normal float32."""


@inlined
def total(row_K: Array, sums: Array) -> Any:
    """The sum of a row; ``sums`` is scratch memory for ``SIDE_BY_SIDE`` of them."""
    zero_row(sums)
    whole = len(row_K) // SIDE_BY_SIDE * SIDE_BY_SIDE
    for first in range(0, whole, SIDE_BY_SIDE):
        for k in range(SIDE_BY_SIDE):
            sums[k] += row_K[first + k]
    for k in range(whole, len(row_K)):
        sums[k - whole] += row_K[k]
    found = sums[0]
    for k in range(1, SIDE_BY_SIDE):
        found += sums[k]
    return found


@inlined
def largest(row_K: Array, most: Array) -> Any:
    """The largest number of a row; it may miss NaN. ``most`` is scratch memory for ``SIDE_BY_SIDE`` of them."""
    for k in range(SIDE_BY_SIDE):
        most[k] = row_K[0]
    whole = len(row_K) // SIDE_BY_SIDE * SIDE_BY_SIDE
    for first in range(0, whole, SIDE_BY_SIDE):
        for k in range(SIDE_BY_SIDE):
            most[k] = max(most[k], row_K[first + k])
    for k in range(whole, len(row_K)):
        most[0] = max(most[0], row_K[k])
    found = most[0]
    for k in range(1, SIDE_BY_SIDE):
        found = max(found, most[k])
    return found


@inlined
def exponentials(row_K: Array) -> None:
    """Replaces each number, none of which is above 0, by its exponential."""
    for k in range(len(row_K)):
        row_K[k] = exp(row_K[k])


def exp(x: Any) -> Any:
    """The exponential of x <= 0."""
    return np.exp(x)


@overload(exp)  # type: ignore[untyped-decorator]
def _by_type(x: Any) -> Any:
    return _of_float32 if x is types.float32 else _of_float64


def _of_float64(x: Any) -> Any:
    return math.exp(x)


@inlined
def _of_float32(x: Any) -> Any:
    """2^k exp(r)."""
    two_to_k, exp_r_minus_1 = parts_of_exp(LEAST if x < LEAST else x)  # noqa: FURB136 (a maximum may lose NaN)
    return two_to_k * (ONE + exp_r_minus_1)
