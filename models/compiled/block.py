"""The shortcut block through time, compiled: the equations of ``models/time/block_loop.py``.

X = 3H. The pre-activations are W x + b + U h_{t-1}, x the layer below. An array without elements is an absent one.
"""

import numpy as np

from skipstack.models.compiled.arithmetic import ONE, sigmoid, tanh
from skipstack.models.compiled.compiling import compiled, inlined
from skipstack.models.compiled.steps import (
    Array,
    add,
    put,
    read_below,
    read_previous,
    return_output,
    return_to_weights,
)


@compiled
def forward(
    x_GTBI: Array,
    below_GIX: Array,
    bias_GX: Array,
    weight_GHX: Array,
    a_GTBH: Array,
    b_GTBH: Array,
    q_GTBH: Array,
    start_G1BH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    read_GTBH: Array,
    tanh_GTBH: Array,
) -> None:
    """Fills the last four; ``read`` is tanh(m) + q."""
    groups, steps, sentences, width = gates_GTBX.shape
    hidden = width // 3
    for g in range(groups):
        bias = bias_GX[g]
        read_below(g, x_GTBI, below_GIX, gates_GTBX)
        for t in range(steps):
            read_previous(g, t, h_GTBH, start_G1BH, weight_GHX, gates_GTBX)
            for n in range(sentences):
                row = gates_GTBX[g, t, n]
                i, o, s = thirds(row)
                through, read, out = tanh_GTBH[g, t, n], read_GTBH[g, t, n], h_GTBH[g, t, n]
                for j in range(2 * hidden):
                    row[j] = sigmoid(row[j] + bias[j])
                for j in range(2 * hidden, width):
                    row[j] = tanh(row[j] + bias[j])
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
    start_G1BH: Array,
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
) -> None:
    """Fills the last seven: the gradients of x, if it has room for any, W, b, U, a, b and q."""
    groups, steps, sentences, width = gates_GTBX.shape
    hidden, kind = width // 3, gates_GTBX.dtype
    to_h_BH, to_m_H = np.empty((sentences, hidden), kind), np.empty(hidden, kind)
    to_pre_TBX = np.empty((steps, sentences, width), kind)  # of one group at a time
    for g in range(groups):
        for t in range(steps - 1, -1, -1):
            return_output(g, t, above_GTBH, to_pre_TBX, weight_GHX, to_h_BH)
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
        known = x_GTBI, below_GIX, start_G1BH, h_GTBH, to_pre_TBX
        return_to_weights(g, *known, to_x_GTBI, to_below_GIX, to_bias_GX, to_weight_GHX)


@inlined
def thirds(row_X: Array) -> tuple[Array, Array, Array]:
    """The parts of i, o and s."""
    hidden = len(row_X) // 3
    return row_X[:hidden], row_X[hidden : 2 * hidden], row_X[2 * hidden :]
