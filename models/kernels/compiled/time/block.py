"""The compiled shortcut block through time: the equations of ``block_layer`` (``models/kernels/layers.py``).

The pre-activations are W x + b + U h_{t-1}. x is the layer below, and x' the gradient of x. An empty array stands for
an absent part. Two arrays decide whether factors are rounded to bfloat16 (``gemm/pairs.py``): ``below_like`` in
products of all steps at once, ``step_like`` in products of one step.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X = 3H pre-activations.
"""

import numpy as np

from skipstack.models.kernels.compiled.arithmetic import ONE, sigmoid, tanh
from skipstack.models.kernels.compiled.rowwise import Array, add, put
from skipstack.models.kernels.compiled.steps import (
    read_below,
    read_previous,
    return_below,
    return_output,
    return_previous,
)
from skipstack.models.kernels.compiling import compiled, inlined
from skipstack.models.kernels.gemm.pairs import across, down
from skipstack.models.kernels.gemm.product import pack, pack_transposed


@compiled
def forward(
    x_GTBI: Array,
    below_GIX: Array,
    bias_GX: Array,
    weight_GHX: Array,
    a_GTBH: Array,
    b_GTBH: Array,
    q_GTBH: Array,
    start_1GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    read_GTBH: Array,
    tanh_GTBH: Array,
    below_like: Array,
    step_like: Array,
) -> None:
    """Fills ``gates`` (i, o, s), ``h`` (outputs) and ``tanh`` (tanh(m)). With q, also fills ``read`` (tanh(m) + q)."""
    groups, steps, sentences, width = gates_GTBX.shape
    hidden = width // 3
    for g in range(groups):
        start_11BH, step_PKX = start_1GBH[:, g : g + 1], pack(down(weight_GHX[g], step_like))
        bias, bias_of_s = bias_GX[g], bias_GX[g, 2 * hidden :]
        read_below(x_GTBI[g], below_GIX[g], gates_GTBX[g], below_like)
        for t in range(steps):
            read_previous(t, h_GTBH[g], start_11BH, step_PKX, gates_GTBX[g], step_like)
            for n in range(sentences):
                row = gates_GTBX[g, t, n]
                i, o, s = thirds(row)
                through, read, out = tanh_GTBH[g, t, n], read_GTBH[g, t, n], h_GTBH[g, t, n]
                for j in range(2 * hidden):
                    row[j] = sigmoid(row[j] + bias[j])
                for j in range(hidden):
                    s[j] = tanh(s[j] + bias_of_s[j])
                for j in range(hidden):
                    through[j] = i[j] * s[j]
                if len(a_GTBH) > 0:
                    add(through, a_GTBH[g, t, n])
                for j in range(hidden):
                    through[j] = tanh(through[j])
                if len(q_GTBH) > 0:
                    shared = q_GTBH[g, t, n]
                    for j in range(hidden):
                        read[j] = through[j] + shared[j]
                for j in range(hidden):
                    out[j] = o[j] * read[j]
                if len(b_GTBH) > 0:
                    add(out, b_GTBH[g, t, n])


@compiled
def backward(
    above_GTBH: Array,
    x_GTBI: Array,
    below_GIX: Array,
    weight_GHX: Array,
    start_1GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    read_GTBH: Array,
    tanh_GTBH: Array,
    to_x_GTBI: Array,
    to_below_GIX: Array,
    to_bias_GX: Array,
    to_weight_GHX: Array,
    to_a_GTBH: Array,
    to_b_GTBH: Array,
    to_q_GTBH: Array,
    below_like: Array,
    step_like: Array,
) -> None:
    """Fills the arrays ``to_...`` with the gradients. The arrays for x, a, b and q may be absent."""
    groups, steps, sentences, width = gates_GTBX.shape
    hidden, kind = width // 3, gates_GTBX.dtype
    to_h_BH, to_m_H = np.empty((sentences, hidden), kind), np.empty(hidden, kind)
    to_pre_TBX = np.empty((steps, sentences, width), kind)  # for one group at a time
    for g in range(groups):
        start_11BH, back_PKH = start_1GBH[:, g : g + 1], pack_transposed(across(weight_GHX[g], step_like))
        for t in range(steps - 1, -1, -1):
            return_output(t, above_GTBH[g], to_pre_TBX, back_PKH, to_h_BH, step_like)
            for n in range(sentences):
                i, o, s = thirds(gates_GTBX[g, t, n])
                to_i, to_o, to_s = thirds(to_pre_TBX[t, n])
                read, through, to_h = read_GTBH[g, t, n], tanh_GTBH[g, t, n], to_h_BH[n]
                for j in range(hidden):
                    to_m_H[j] = to_h[j] * o[j] * (ONE - through[j] * through[j])
                for j in range(hidden):
                    to_i[j] = to_m_H[j] * s[j] * i[j] * (ONE - i[j])
                for j in range(hidden):
                    to_o[j] = to_h[j] * read[j] * o[j] * (ONE - o[j])
                for j in range(hidden):
                    to_s[j] = to_m_H[j] * i[j] * (ONE - s[j] * s[j])
                if len(to_a_GTBH) > 0:
                    put(to_a_GTBH[g, t, n], to_m_H)
                if len(to_b_GTBH) > 0:
                    put(to_b_GTBH[g, t, n], to_h)
                if len(to_q_GTBH) > 0:
                    for j in range(hidden):
                        to_q_GTBH[g, t, n, j] = to_h[j] * o[j]
        to_x_1TBI = to_x_GTBI[g : g + 1]
        return_below(x_GTBI[g], below_GIX[g], to_pre_TBX, to_x_1TBI, to_below_GIX[g], to_bias_GX[g], below_like)
        return_previous(h_GTBH[g], start_11BH, to_pre_TBX, to_weight_GHX[g], step_like)


@inlined
def thirds(row_X: Array) -> tuple[Array, Array, Array]:
    """Returns the three parts of a row: i, o and s in a block, or r, z and n in a GRU."""
    hidden = len(row_X) // 3
    return row_X[:hidden], row_X[hidden : 2 * hidden], row_X[2 * hidden :]
