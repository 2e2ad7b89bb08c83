"""The compiled LSTM through time, with or without shortcuts: the equations of ``lstm_layer``
(``models/kernels/layers.py``).

The pre-activations are W x + b + U h_{t-1}. x is the layer below, and x' the gradient of x. An empty array stands for
an absent part. Two arrays decide whether factors are rounded to bfloat16 (``gemm/pairs.py``): ``below_like`` in
products of all steps at once, ``step_like`` in products of one step.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, S = T + 1 internal states,
which begin with the state before the first step, B sentences, I inputs from the layer below, H hidden units, X = 4H
pre-activations, Y = 2H entries of a state [h; c].
"""

import numpy as np

from skipstack.models.kernels.compiled.arithmetic import ONE, sigmoid, tanh
from skipstack.models.kernels.compiled.rowwise import Array, add, put, scale, zero
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
    k_GTBH: Array,
    updated: bool,
    start_2GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    c_GSBH: Array,
    tanh_GTBH: Array,
    v_GTBH: Array,
    last_GBY: Array,
    below_like: Array,
    step_like: Array,
) -> None:
    """Fills ``gates`` (i, f, o, s), ``h`` (outputs), ``c`` (internal states, beginning with the start state), ``tanh``
    (tanh(u)) and ``last`` (the last state [h; c]). With k (the share that a highway keeps), also fills ``v`` (the
    internal state i s + f c, to which k and a are not yet applied).
    """
    groups, steps, sentences, width = gates_GTBX.shape
    hidden = width // 4
    for g in range(groups):
        start_11BH, step_PKX = start_2GBH[:1, g : g + 1], pack(down(weight_GHX[g], step_like))
        bias, bias_of_s = bias_GX[g], bias_GX[g, 3 * hidden :]
        if len(start_2GBH) > 0:
            c_GSBH[g, 0] = start_2GBH[1, g]
        else:
            zero(c_GSBH[g, 0])
        read_below(x_GTBI[g], below_GIX[g], gates_GTBX[g], below_like)
        for t in range(steps):
            read_previous(t, h_GTBH[g], start_11BH, step_PKX, gates_GTBX[g], step_like)
            for n in range(sentences):
                row = gates_GTBX[g, t, n]
                i, f, o, s = quarters(row)
                before, after, through, out = c_GSBH[g, t, n], c_GSBH[g, t + 1, n], tanh_GTBH[g, t, n], h_GTBH[g, t, n]
                for j in range(3 * hidden):
                    row[j] = sigmoid(row[j] + bias[j])
                for j in range(hidden):
                    s[j] = tanh(s[j] + bias_of_s[j])
                for j in range(hidden):
                    after[j] = i[j] * s[j] + f[j] * before[j]
                if not updated:
                    for j in range(hidden):
                        through[j] = tanh(after[j])
                if len(k_GTBH) > 0:
                    put(v_GTBH[g, t, n], after)
                    scale(after, k_GTBH[g, t, n])
                if len(a_GTBH) > 0:
                    add(after, a_GTBH[g, t, n])
                if updated:
                    for j in range(hidden):
                        through[j] = tanh(after[j])
                for j in range(hidden):
                    out[j] = o[j] * through[j]
                if len(k_GTBH) > 0:
                    scale(out, k_GTBH[g, t, n])
                if len(b_GTBH) > 0:
                    add(out, b_GTBH[g, t, n])
        for n in range(sentences):
            put(last_GBY[g, n, :hidden], h_GTBH[g, -1, n])
            put(last_GBY[g, n, hidden:], c_GSBH[g, -1, n])


@compiled
def backward(
    above_GTBH: Array,
    x_GTBI: Array,
    below_GIX: Array,
    weight_GHX: Array,
    start_2GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    c_GSBH: Array,
    tanh_GTBH: Array,
    v_GTBH: Array,
    k_GTBH: Array,
    updated: bool,
    to_x_GTBI: Array,
    to_below_GIX: Array,
    to_bias_GX: Array,
    to_weight_GHX: Array,
    to_a_GTBH: Array,
    to_b_GTBH: Array,
    to_k_GTBH: Array,
    below_like: Array,
    step_like: Array,
) -> None:
    """Fills the arrays ``to_...`` with the gradients. The arrays for x, and for the skip's parts a, b and k, may be
    absent.
    """
    groups, steps, sentences, width = gates_GTBX.shape
    hidden, kind = width // 4, gates_GTBX.dtype
    to_h_BH, to_c_BH, to_v_H = (
        np.empty((sentences, hidden), kind),
        np.empty((sentences, hidden), kind),
        np.empty(hidden, kind),
    )
    to_pre_TBX = np.empty((steps, sentences, width), kind)  # for one group at a time
    for g in range(groups):
        start_11BH, back_PKH = start_2GBH[:1, g : g + 1], pack_transposed(across(weight_GHX[g], step_like))
        zero(to_c_BH)
        for t in range(steps - 1, -1, -1):
            return_output(t, above_GTBH[g], to_pre_TBX, back_PKH, to_h_BH, step_like)
            for n in range(sentences):
                i, f, o, s = quarters(gates_GTBX[g, t, n])
                to_i, to_f, to_o, to_s = quarters(to_pre_TBX[t, n])
                before, through, to_h, to_c = c_GSBH[g, t, n], tanh_GTBH[g, t, n], to_h_BH[n], to_c_BH[n]
                if updated:
                    to_u_H = to_v_H
                    for j in range(hidden):
                        to_u_H[j] = to_h[j] * o[j] * (ONE - through[j] * through[j])
                    if len(k_GTBH) > 0:
                        scale(to_u_H, k_GTBH[g, t, n])
                    add(to_c, to_u_H)
                if len(to_a_GTBH) > 0:
                    put(to_a_GTBH[g, t, n], to_c)
                if len(to_b_GTBH) > 0:
                    put(to_b_GTBH[g, t, n], to_h)
                if len(k_GTBH) > 0:
                    if len(to_k_GTBH) > 0:
                        whole, to_k = v_GTBH[g, t, n], to_k_GTBH[g, t, n]
                        for j in range(hidden):
                            to_k[j] = to_c[j] * whole[j] + to_h[j] * o[j] * through[j]
                    scale(to_c, k_GTBH[g, t, n])
                    scale(to_h, k_GTBH[g, t, n])
                if updated:
                    put(to_v_H, to_c)
                else:
                    for j in range(hidden):
                        to_v_H[j] = to_c[j] + to_h[j] * o[j] * (ONE - through[j] * through[j])
                for j in range(hidden):
                    to_i[j] = to_v_H[j] * s[j] * i[j] * (ONE - i[j])
                for j in range(hidden):
                    to_f[j] = to_v_H[j] * before[j] * f[j] * (ONE - f[j])
                for j in range(hidden):
                    to_o[j] = to_h[j] * through[j] * o[j] * (ONE - o[j])
                for j in range(hidden):
                    to_s[j] = to_v_H[j] * i[j] * (ONE - s[j] * s[j])
                for j in range(hidden):
                    to_c[j] = to_v_H[j] * f[j]
        to_x_1TBI = to_x_GTBI[g : g + 1]
        return_below(x_GTBI[g], below_GIX[g], to_pre_TBX, to_x_1TBI, to_below_GIX[g], to_bias_GX[g], below_like)
        return_previous(h_GTBH[g], start_11BH, to_pre_TBX, to_weight_GHX[g], step_like)


@inlined
def quarters(row_X: Array) -> tuple[Array, Array, Array, Array]:
    """Returns the four parts of a row: i, f, o and s."""
    hidden = len(row_X) // 4
    return row_X[:hidden], row_X[hidden : 2 * hidden], row_X[2 * hidden : 3 * hidden], row_X[3 * hidden :]
