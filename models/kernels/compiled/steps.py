"""Functions that the compiled loops over time share. Each works on one group: a lane (one seed's copy of the network)
in one reading direction.

Axes: T time steps, B sentences, N rows, I inputs from the layer below, H hidden units, X pre-activations; P panels of
K rows (a matrix packed for products). ``like`` decides whether the factors of products are rounded to bfloat16
(``gemm/pairs.py``). Optional arrays have a first axis of length 1, or 0 if absent. x' is the gradient of x.
"""

from skipstack.models.kernels.compiled.rowwise import Array, put, rows_of, sum_rows
from skipstack.models.kernels.compiling import inlined
from skipstack.models.kernels.gemm.pairs import across, down
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed


@inlined
def read_below(x_TBI: Array, below_IX: Array, out_TBX: Array, like: Array) -> None:
    """Fills ``out_TBX`` with W x for all steps and sentences."""
    multiply(across(rows_of(x_TBI), like), pack(down(below_IX, like)), rows_of(out_TBX))


@inlined
def read_previous(t: int, h_TBH: Array, start_11BH: Array, step_PKX: Array, out_TBX: Array, like: Array) -> None:
    """Adds U h_{t-1} to step t of ``out_TBX``. ``step_PKX``: the panels of U. At the first step, h_{t-1} is the start
    state. Without a start state, nothing is added.
    """
    if t > 0:
        multiply(across(h_TBH[t - 1], like), step_PKX, out_TBX[t], added=True)
    elif len(start_11BH) > 0:
        multiply(across(start_11BH[0, 0], like), step_PKX, out_TBX[t], added=True)


@inlined
def state_before(t: int, h_TBH: Array, start_11BH: Array, nothing_BH: Array) -> Array:
    """Returns h_{t-1} of all sentences. At the first step this is the start state, or ``nothing_BH`` if absent."""
    before_BH = nothing_BH
    if t > 0:
        before_BH = h_TBH[t - 1]
    elif len(start_11BH) > 0:
        before_BH = start_11BH[0, 0]
    return before_BH


@inlined
def return_output(t: int, above_TBH: Array, to_pre_TBX: Array, back_PKH: Array, to_h_BH: Array, like: Array) -> None:
    """Fills ``to_h_BH`` with h_t', step t of ``above_TBH`` plus U^T pre_{t+1}'. ``back_PKH``: the panels of U^T."""
    for n in range(len(to_h_BH)):
        put(to_h_BH[n], above_TBH[t, n])
    if t + 1 < len(to_pre_TBX):
        multiply(across(to_pre_TBX[t + 1], like), back_PKH, to_h_BH, added=True)


@inlined
def return_below(
    x_TBI: Array,
    below_IX: Array,
    to_pre_TBX: Array,
    to_x_1TBI: Array,
    to_below_IX: Array,
    to_bias_X: Array,
    like: Array,
) -> None:
    """Fills W' = sum_t x_t pre_t'^T, b' = sum_t pre_t' and, unless ``to_x_1TBI`` is absent, x' = W^T pre'."""
    pre_NX = rows_of(to_pre_TBX)
    multiply(down(rows_of(x_TBI), like), pack(down(pre_NX, like)), to_below_IX, x_turned=True)
    if len(to_x_1TBI) > 0:
        multiply(across(pre_NX, like), pack_transposed(across(below_IX, like)), rows_of(to_x_1TBI[0]))
    sum_rows(to_bias_X, pre_NX)


@inlined
def return_previous(h_TBH: Array, start_11BH: Array, to_pre_TBX: Array, to_weight_HX: Array, like: Array) -> None:
    """Fills ``to_weight_HX`` with the gradient of U, U' = sum_t h_{t-1} pre_t'^T."""
    before_NH, pre_NX = down(rows_of(h_TBH[:-1]), like), pack(down(rows_of(to_pre_TBX[1:]), like))
    multiply(before_NH, pre_NX, to_weight_HX, x_turned=True)
    if len(start_11BH) > 0:
        start_PKX = pack(down(to_pre_TBX[0], like))
        multiply(down(start_11BH[0, 0], like), start_PKX, to_weight_HX, x_turned=True, added=True)
