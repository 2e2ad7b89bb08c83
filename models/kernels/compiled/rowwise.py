"""Arithmetic on rows within compiled loops, without matrix products.

Each loop over a row writes one array, and counts from 0. The compiler can then compute several numbers at once, which
negative indices would prevent. Axes: T time steps, B sentences, N rows, and I, X or H numbers of a row.
"""

from typing import Any

from numpy.typing import NDArray

from skipstack.models.kernels.compiling import inlined

Array = NDArray[Any]


@inlined
def rows_of(x_TBI: Array) -> Array:
    """Returns the rows of all sentences at all steps, step after step."""
    steps, sentences, size = x_TBI.shape
    return x_TBI.reshape(steps * sentences, size)


@inlined
def sum_rows(sum_X: Array, rows_NX: Array) -> None:
    """Fills ``sum_X`` with the sum of the rows. There must be at least one row."""
    put(sum_X, rows_NX[0])
    for n in range(1, len(rows_NX)):
        add(sum_X, rows_NX[n])


@inlined
def zero(out_BH: Array) -> None:
    """Fills all rows with zeros."""
    for n in range(len(out_BH)):
        zero_row(out_BH[n])


@inlined
def zero_row(row_H: Array) -> None:
    """Fills a row with zeros."""
    for j in range(len(row_H)):
        row_H[j] = 0


@inlined
def add(row_H: Array, added_H: Array) -> None:
    """Adds ``added`` to ``row`` in place."""
    for j in range(len(row_H)):
        row_H[j] += added_H[j]


@inlined
def scale(row_H: Array, factor_H: Array) -> None:
    """Multiplies ``row`` by ``factor`` in place."""
    for j in range(len(row_H)):
        row_H[j] *= factor_H[j]


@inlined
def put(row_H: Array, values_H: Array) -> None:
    """Copies ``values`` into ``row``."""
    for j in range(len(row_H)):
        row_H[j] = values_H[j]
