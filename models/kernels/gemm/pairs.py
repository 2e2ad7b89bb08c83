"""Factors of products in bfloat16, packed in pairs; a pair has 32 bits. CPU instructions multiply two pairs, and sum
both products in float32.

``like`` decides how factors are stored: in pairs if ``like`` is an array of uint32, unchanged if it has the factors'
own type. Axes: the first factor has M rows of K numbers, the second K rows of N numbers; L pairs, half of K, rounded
up. If K is odd, the second number of the last pair is zero.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from skipstack.models.kernels.compiling import inlined

HALF, ONE, SHIFT = np.uint32(0x7FFF), np.uint32(1), np.uint32(16)
PAIRS: Final = np.empty(0, np.uint32)
"""The value of ``like`` that requests pairs."""


@intrinsic  # type: ignore[untyped-decorator]
def bits_of_float(_: Any, number: Any) -> Any:
    """Returns the 32 bits of a float32."""
    return types.uint32(types.float32), lambda _, builder, __, given: builder.bitcast(given[0], ir.IntType(32))


@inlined
def rounded(number: Any) -> Any:
    """Returns the 16 bits of the nearest bfloat16. Ties go to the even bfloat16."""
    bits = bits_of_float(number)
    return (bits + HALF + ((bits >> SHIFT) & ONE)) >> SHIFT


@inlined
def pair(first: Any, second: Any) -> Any:
    """Returns two numbers as a pair of bfloat16 in 32 bits, the first in the lower half."""
    return rounded(first) | (rounded(second) << SHIFT)


def across(x_MK: Any, like: Any) -> Any:
    """Returns x_ML, packed in pairs of neighbours in a row. If ``like`` has the type of x, returns x itself."""
    raise NotImplementedError("it is compiled only")


@overload(across)  # type: ignore[untyped-decorator]
def _across(x_MK: Any, like: Any) -> Any:
    if x_MK.dtype is like.dtype:
        return _as_it_is

    def paired(x_MK: Any, like: Any) -> Any:
        rows, depth = x_MK.shape
        x_ML, pairs = np.empty((rows, (depth + 1) // 2), np.uint32), depth // 2
        for m in range(rows):
            for k in range(pairs):
                x_ML[m, k] = pair(x_MK[m, 2 * k], x_MK[m, 2 * k + 1])
            if depth > 2 * pairs:
                x_ML[m, pairs] = rounded(x_MK[m, depth - 1])
        return x_ML

    return paired


def down(x_KN: Any, like: Any) -> Any:
    """Returns x_LN, packed in pairs of neighbours in a column. If ``like`` has the type of x, returns x itself."""
    raise NotImplementedError("it is compiled only")


@overload(down)  # type: ignore[untyped-decorator]
def _down(x_KN: Any, like: Any) -> Any:
    if x_KN.dtype is like.dtype:

        def as_it_is(x_KN: Any, like: Any) -> Any:
            return x_KN

        return as_it_is

    def paired(x_KN: Any, like: Any) -> Any:
        depth, columns = x_KN.shape
        x_LN, pairs = np.empty(((depth + 1) // 2, columns), np.uint32), depth // 2
        for k in range(pairs):
            for n in range(columns):
                x_LN[k, n] = pair(x_KN[2 * k, n], x_KN[2 * k + 1, n])
        if depth > 2 * pairs:
            for n in range(columns):
                x_LN[pairs, n] = rounded(x_KN[depth - 1, n])
        return x_LN

    return paired


def _as_it_is(x_MK: Any, like: Any) -> Any:
    return x_MK
