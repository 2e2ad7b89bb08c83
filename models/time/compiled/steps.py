"""What all compiled loops do alike at a step. X: as many numbers as the layer's gates have together.

Each loop over a row writes one array: then several of its numbers are computed at once.
"""

from typing import Any

from numpy.typing import NDArray

from skipstack.models.time.compiled.compiling import inlined
from skipstack.models.time.compiled.products import multiply

Array = NDArray[Any]


@inlined
def read_previous(g: int, t: int, h_GTBH: Array, start_G1BH: Array, weight_GHX: Array, out_GTBX: Array) -> None:
    """U h_{t-1} of one group, for all sentences; before the first step, of what it starts from."""
    if t > 0:
        multiply(h_GTBH[g, t - 1], weight_GHX[g], out_GTBX[g, t])
    elif len(start_G1BH) > 0:
        multiply(start_G1BH[g, 0], weight_GHX[g], out_GTBX[g, t])
    else:
        zero(out_GTBX[g, t])


@inlined
def return_output(g: int, t: int, above_GTBH: Array, to_pre_GTBX: Array, weight_GHX: Array, to_h_BH: Array) -> None:
    """h_t' = (from above)_t + U^T pre_{t+1}' of one group, for all sentences."""
    if t + 1 < above_GTBH.shape[1]:
        multiply(to_pre_GTBX[g, t + 1], weight_GHX[g], to_h_BH, weight_turned=True)
    else:
        zero(to_h_BH)
    for n in range(len(to_h_BH)):
        add(to_h_BH[n], above_GTBH[g, t, n])


@inlined
def return_recurrent(g: int, h_GTBH: Array, to_pre_GTBX: Array, to_weight_GHX: Array) -> None:
    """U' = sum_t h_{t-1} pre_t'^T of one group, from the second step on."""
    _, steps, sentences, hidden = h_GTBH.shape
    rows = (steps - 1) * sentences
    before_NH = h_GTBH[g, : steps - 1].reshape(rows, hidden)
    multiply(before_NH, to_pre_GTBX[g, 1:].reshape(rows, to_pre_GTBX.shape[3]), to_weight_GHX[g], x_turned=True)


@inlined
def zero(out_BH: Array) -> None:
    """A product with nothing."""
    for n in range(len(out_BH)):
        row = out_BH[n]
        for j in range(len(row)):
            row[j] = 0


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
