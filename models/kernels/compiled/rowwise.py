"""Arithmetic on rows within compiled loops; none of it asks for a matrix product.

Each loop over a row writes one array, from its first number on: then several numbers are computed at once, which is
not done where numba thinks that an index may be negative.
"""

from typing import Any

from numpy.typing import NDArray

from skipstack.models.kernels.compiling import inlined

Array = NDArray[Any]


@inlined
def rows_of(x_TBI: Array) -> Array:
    """All steps and sentences one after another."""
    steps, sentences, size = x_TBI.shape
    return x_TBI.reshape(steps * sentences, size)


@inlined
def sum_rows(sum_X: Array, rows_NX: Array) -> None:
    """The sum of rows, of which there is one at least."""
    put(sum_X, rows_NX[0])
    for n in range(1, len(rows_NX)):
        add(sum_X, rows_NX[n])


@inlined
def zero(out_BH: Array) -> None:
    """Nothing, everywhere."""
    for n in range(len(out_BH)):
        zero_row(out_BH[n])


@inlined
def zero_row(row_H: Array) -> None:
    """Nothing, everywhere in a row."""
    for j in range(len(row_H)):
        row_H[j] = 0


@inlined
def add(row_H: Array, added_H: Array) -> None:
    """``row`` and what is added, in its place."""
    for j in range(len(row_H)):
        row_H[j] += added_H[j]


@inlined
def scale(row_H: Array, factor_H: Array) -> None:
    """``row`` times the factor, in its place."""
    for j in range(len(row_H)):
        row_H[j] *= factor_H[j]


@inlined
def put(row_H: Array, values_H: Array) -> None:
    """The values, in the place of ``row``."""
    for j in range(len(row_H)):
        row_H[j] = values_H[j]
