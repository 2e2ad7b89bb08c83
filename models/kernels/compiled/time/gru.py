"""The compiled gated recurrent unit through time: the equations of ``models/parts/cells/gru.py``.

A step reads two products, W x and U h_{t-1}. They are kept separate, since the reset gate multiplies only the last
third of U h_{t-1}. x is the layer below, and x' the gradient of x. An empty array stands for an absent part. Two
arrays decide whether factors are rounded to bfloat16 (``gemm/pairs.py``): ``below_like`` in products of all steps at
once, ``step_like`` in products of one step.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X = 3H pre-activations.
"""

import numpy as np

from skipstack.models.kernels.compiled.arithmetic import ONE, sigmoid, tanh
from skipstack.models.kernels.compiled.rowwise import Array, add, rows_of, sum_rows, zero
from skipstack.models.kernels.compiled.steps import (
    read_below,
    return_below,
    return_output,
    return_previous,
    state_before,
)
from skipstack.models.kernels.compiled.time.block import thirds
from skipstack.models.kernels.compiling import compiled
from skipstack.models.kernels.gemm.pairs import across, down
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed


@compiled
def forward(
    x_GTBI: Array,
    below_GIX: Array,
    bias_GX: Array,
    weight_GHX: Array,
    bias_of_h_GH: Array,
    start_1GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    recalled_GTBH: Array,
    below_like: Array,
    step_like: Array,
) -> None:
    """Fills ``gates`` with r, z and n, ``h`` with the outputs, and ``recalled`` with U_n h_{t-1} + b_hn."""
    groups, steps, sentences, width = gates_GTBX.shape
    hidden = width // 3
    of_h_BX = np.empty((sentences, width), gates_GTBX.dtype)
    for g in range(groups):
        step_PKX = pack(down(weight_GHX[g], step_like))
        bias, bias_of_n, bias_of_h = bias_GX[g], bias_GX[g, 2 * hidden :], bias_of_h_GH[g]
        read_below(x_GTBI[g], below_GIX[g], gates_GTBX[g], below_like)
        for t in range(steps):
            if t > 0:
                multiply(across(h_GTBH[g, t - 1], step_like), step_PKX, of_h_BX)
            elif len(start_1GBH) > 0:
                multiply(across(start_1GBH[0, g], step_like), step_PKX, of_h_BX)
            else:
                zero(of_h_BX)
            for n in range(sentences):
                row, of_h, of_h_n = gates_GTBX[g, t, n], of_h_BX[n], of_h_BX[n, 2 * hidden :]
                r, z, new = thirds(row)
                recalled, out = recalled_GTBH[g, t, n], h_GTBH[g, t, n]
                for j in range(2 * hidden):
                    row[j] = sigmoid(row[j] + of_h[j] + bias[j])
                for j in range(hidden):
                    recalled[j] = of_h_n[j] + bias_of_h[j]
                for j in range(hidden):
                    new[j] = tanh(new[j] + bias_of_n[j] + r[j] * recalled[j])
                for j in range(hidden):
                    out[j] = (ONE - z[j]) * new[j]
                if t > 0:
                    before = h_GTBH[g, t - 1, n]
                    for j in range(hidden):
                        out[j] += z[j] * before[j]
                elif len(start_1GBH) > 0:
                    before = start_1GBH[0, g, n]
                    for j in range(hidden):
                        out[j] += z[j] * before[j]


@compiled
def backward(
    above_GTBH: Array,
    x_GTBI: Array,
    below_GIX: Array,
    weight_GHX: Array,
    start_1GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    recalled_GTBH: Array,
    to_x_GTBI: Array,
    to_below_GIX: Array,
    to_bias_GX: Array,
    to_weight_GHX: Array,
    to_bias_of_h_GH: Array,
    below_like: Array,
    step_like: Array,
) -> None:
    """Fills the five arrays ``to_...`` with the gradients of x (if its array is present), W, b, U and b_hn.

    (from above) is ``above_GTBH``. m is the pre-activation of n, so n = tanh(m):
    h_t' = (from above)_t + z_{t+1} h_{t+1}' + U^T (U h)_{t+1}'
    m' = h' (1 - z) (1 - n^2)
    (W x)' = (m' recalled r (1 - r),  h' (h_{t-1} - n) z (1 - z),  m')
    (U h)' = (m' recalled r (1 - r),  h' (h_{t-1} - n) z (1 - z),  m' r)
    """
    groups, steps, sentences, width = gates_GTBX.shape
    hidden, kind = width // 3, gates_GTBX.dtype
    to_h_BH, carried_BH = np.empty((sentences, hidden), kind), np.empty((sentences, hidden), kind)
    nothing_BH = np.zeros((sentences, hidden), kind)
    to_pre_TBX, to_of_h_TBX = np.empty((steps, sentences, width), kind), np.empty((steps, sentences, width), kind)
    for g in range(groups):
        start_11BH, back_PKH = start_1GBH[:, g : g + 1], pack_transposed(across(weight_GHX[g], step_like))
        zero(carried_BH)
        for t in range(steps - 1, -1, -1):
            return_output(t, above_GTBH[g], to_of_h_TBX, back_PKH, to_h_BH, step_like)
            before_BH = state_before(t, h_GTBH[g], start_11BH, nothing_BH)
            for n in range(sentences):
                r, z, new = thirds(gates_GTBX[g, t, n])
                to_r, to_z, to_new = thirds(to_pre_TBX[t, n])
                also_to_r, also_to_z, to_recalled = thirds(to_of_h_TBX[t, n])
                recalled, before = recalled_GTBH[g, t, n], before_BH[n]
                to_h, carried = to_h_BH[n], carried_BH[n]
                add(to_h, carried)
                for j in range(hidden):
                    to_new[j] = to_h[j] * (ONE - z[j]) * (ONE - new[j] * new[j])
                for j in range(hidden):
                    to_recalled[j] = to_new[j] * r[j]
                for j in range(hidden):
                    to_r[j] = to_recalled[j] * recalled[j] * (ONE - r[j])
                for j in range(hidden):
                    also_to_r[j] = to_r[j]
                for j in range(hidden):
                    to_z[j] = to_h[j] * (before[j] - new[j]) * z[j] * (ONE - z[j])
                for j in range(hidden):
                    also_to_z[j] = to_z[j]
                for j in range(hidden):
                    carried[j] = to_h[j] * z[j]
        to_x_1TBI = to_x_GTBI[g : g + 1]
        return_below(x_GTBI[g], below_GIX[g], to_pre_TBX, to_x_1TBI, to_below_GIX[g], to_bias_GX[g], below_like)
        return_previous(h_GTBH[g], start_11BH, to_of_h_TBX, to_weight_GHX[g], step_like)
        sum_rows(to_bias_of_h_GH[g], rows_of(to_of_h_TBX)[:, 2 * hidden :])
