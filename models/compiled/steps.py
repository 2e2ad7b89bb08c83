"""What all compiled loops do alike at a step. X: as many numbers as the layer's gates have together.

Each loop over a row writes one array: then several of its numbers are computed at once.
"""

from typing import Any

from numpy.typing import NDArray

from skipstack.models.compiled.compiling import inlined
from skipstack.models.compiled.products import multiply

Array = NDArray[Any]


@inlined
def read_below(g: int, x_GTBI: Array, below_GIX: Array, out_GTBX: Array) -> None:
    """W x of one group, for all steps and sentences."""
    multiply(rows_of(x_GTBI[g]), below_GIX[g], rows_of(out_GTBX[g]))


@inlined
def read_previous(g: int, t: int, h_GTBH: Array, start_G1BH: Array, weight_GHX: Array, out_GTBX: Array) -> None:
    """Adds U h_{t-1} of one group, for all sentences; before the first step, of what it starts from."""
    if t > 0:
        multiply(h_GTBH[g, t - 1], weight_GHX[g], out_GTBX[g, t], added=True)
    elif len(start_G1BH) > 0:
        multiply(start_G1BH[g, 0], weight_GHX[g], out_GTBX[g, t], added=True)


@inlined
def return_output(g: int, t: int, above_GTBH: Array, to_pre_TBX: Array, weight_GHX: Array, to_h_BH: Array) -> None:
    """h_t' = (from above)_t + U^T pre_{t+1}' of one group, for all sentences."""
    for n in range(len(to_h_BH)):
        put(to_h_BH[n], above_GTBH[g, t, n])
    if t + 1 < len(to_pre_TBX):
        multiply(to_pre_TBX[t + 1], weight_GHX[g], to_h_BH, weight_turned=True, added=True)


@inlined
def return_to_weights(
    g: int,
    x_GTBI: Array,
    below_GIX: Array,
    start_G1BH: Array,
    h_GTBH: Array,
    to_pre_TBX: Array,
    to_x_GTBI: Array,
    to_below_GIX: Array,
    to_bias_GX: Array,
    to_weight_GHX: Array,
) -> None:
    """W' = sum_t x_t pre_t'^T, b' = sum_t pre_t' and U' = sum_t h_{t-1} pre_t'^T of one group; x' = W^T pre', if asked
    for.
    """
    pre_NX, last = rows_of(to_pre_TBX), len(to_pre_TBX) - 1
    multiply(rows_of(x_GTBI[g]), pre_NX, to_below_GIX[g], x_turned=True)
    multiply(rows_of(h_GTBH[g, :last]), rows_of(to_pre_TBX[1:]), to_weight_GHX[g], x_turned=True)
    if len(start_G1BH) > 0:
        multiply(start_G1BH[g, 0], to_pre_TBX[0], to_weight_GHX[g], x_turned=True, added=True)
    if len(to_x_GTBI) > 0:
        multiply(pre_NX, below_GIX[g], rows_of(to_x_GTBI[g]), weight_turned=True)
    put(to_bias_GX[g], pre_NX[0])
    for n in range(1, len(pre_NX)):
        add(to_bias_GX[g], pre_NX[n])


@inlined
def rows_of(x_TBI: Array) -> Array:
    """All steps and sentences one after another."""
    steps, sentences, size = x_TBI.shape
    return x_TBI.reshape(steps * sentences, size)


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
