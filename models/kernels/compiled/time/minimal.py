"""The compiled minGRU and minLSTM through time: the equations of ``models/parts/cells/minimal.py``.

No gate reads an earlier step, so one product computes the pre-activations of all steps, and the loop over time has no
products. ``ratio`` is i / f of a minLSTM, and absent in a minGRU. x is the layer below, and x' the gradient of x. An
empty array stands for an absent part. ``below_like`` decides whether the factors of the product are rounded to bfloat16
(``gemm/pairs.py``).

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units. X pre-activations: 2H in a minGRU, of z and s; 3H in a minLSTM, of f, i and s.
"""

from typing import Final

import numpy as np

from skipstack.models.kernels.compiled.arithmetic import LIMIT, ONE, TWO, exp_minus_1, sigmoid
from skipstack.models.kernels.compiled.rowwise import Array, add, put, zero
from skipstack.models.kernels.compiled.steps import read_below, return_below, state_before
from skipstack.models.kernels.compiling import compiled, inlined

ZERO: Final = np.float32(0)


@compiled
def forward(
    x_GTBI: Array,
    below_GIX: Array,
    bias_GX: Array,
    start_1GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    ratio_GTBH: Array,
    below_like: Array,
) -> None:
    """Fills ``gates`` (sigmoids of the gates, then s), ``h`` (outputs) and, in a minLSTM, ``ratio`` (i / f)."""
    groups, steps, sentences, width = gates_GTBX.shape
    hidden = h_GTBH.shape[3]
    own = width - hidden  # pre-activations of the gates alone
    f_BH, i_BH = np.empty((sentences, hidden), gates_GTBX.dtype), np.empty((sentences, hidden), gates_GTBX.dtype)
    for g in range(groups):
        bias = bias_GX[g]
        bias_of_s = bias[own:]
        read_below(x_GTBI[g], below_GIX[g], gates_GTBX[g], below_like)
        for t in range(steps):
            for n in range(sentences):
                row = gates_GTBX[g, t, n]
                for j in range(own):
                    row[j] += bias[j]
                if own > hidden:
                    put(f_BH[n], row[:hidden])
                    put(i_BH[n], row[hidden:own])
            if own > hidden:
                divide_sigmoids(ratio_GTBH[g, t].reshape(-1), i_BH.reshape(-1), f_BH.reshape(-1))
            for n in range(sentences):
                row, out = gates_GTBX[g, t, n], h_GTBH[g, t, n]
                first, s = row[:hidden], row[own:]
                for j in range(own):
                    row[j] = sigmoid(row[j])
                for j in range(hidden):
                    s[j] += bias_of_s[j]
                if t > 0:
                    put(out, h_GTBH[g, t - 1, n])
                elif len(start_1GBH) > 0:
                    put(out, start_1GBH[0, g, n])
                else:
                    for j in range(hidden):
                        out[j] = 0
                if own == hidden:
                    for j in range(hidden):
                        out[j] = (ONE - first[j]) * out[j] + first[j] * s[j]
                else:
                    ratio = ratio_GTBH[g, t, n]
                    for j in range(hidden):
                        out[j] = (out[j] + ratio[j] * s[j]) / (ONE + ratio[j])


@compiled
def backward(
    above_GTBH: Array,
    x_GTBI: Array,
    below_GIX: Array,
    start_1GBH: Array,
    gates_GTBX: Array,
    h_GTBH: Array,
    ratio_GTBH: Array,
    to_x_GTBI: Array,
    to_below_GIX: Array,
    to_bias_GX: Array,
    below_like: Array,
) -> None:
    """Fills the three arrays ``to_...`` with the gradients of x (if its array is present), W and b.

    (from above) is ``above_GTBH``, and h_t = k h_{t-1} + (1 - k) s:
    h_t' = (from above)_t + k_{t+1} h_{t+1}'
    s' = h' (1 - k)
    With d = h' (h_{t-1} - s) k (1 - k), the gradients of the pre-activations are -d for z, d (1 - f) for f, and
    -d (1 - i) for i.
    """
    groups, steps, sentences, width = gates_GTBX.shape
    hidden, kind = h_GTBH.shape[3], gates_GTBX.dtype
    own = width - hidden
    to_h_H, kept_H, taken_H = np.empty(hidden, kind), np.empty(hidden, kind), np.empty(hidden, kind)
    carried_BH, nothing_BH = np.empty((sentences, hidden), kind), np.zeros((sentences, hidden), kind)
    to_pre_TBX = np.empty((steps, sentences, width), kind)  # for one group at a time
    for g in range(groups):
        zero(carried_BH)
        for t in range(steps - 1, -1, -1):
            before_BH = state_before(t, h_GTBH[g], start_1GBH[:, g : g + 1], nothing_BH)
            for n in range(sentences):
                row, to_row, before, carried = gates_GTBX[g, t, n], to_pre_TBX[t, n], before_BH[n], carried_BH[n]
                first, second, s = row[:hidden], row[hidden : 2 * hidden], row[own:]
                to_first, to_second, to_s = to_row[:hidden], to_row[hidden : 2 * hidden], to_row[own:]
                put(to_h_H, above_GTBH[g, t, n])
                add(to_h_H, carried)
                if own == hidden:
                    for j in range(hidden):
                        kept_H[j] = ONE - first[j]
                    put(taken_H, first)
                else:
                    ratio = ratio_GTBH[g, t, n]
                    for j in range(hidden):
                        kept_H[j] = ONE / (ONE + ratio[j])
                    for j in range(hidden):
                        taken_H[j] = ratio[j] / (ONE + ratio[j])
                for j in range(hidden):
                    carried[j] = to_h_H[j] * kept_H[j]
                if own == hidden:
                    for j in range(hidden):
                        to_first[j] = carried[j] * (s[j] - before[j]) * first[j]
                else:
                    for j in range(hidden):
                        to_second[j] = carried[j] * (s[j] - before[j]) * taken_H[j] * (ONE - second[j])
                    for j in range(hidden):
                        to_first[j] = carried[j] * (before[j] - s[j]) * taken_H[j] * (ONE - first[j])
                for j in range(hidden):
                    to_s[j] = to_h_H[j] * taken_H[j]
        to_x_1TBI = to_x_GTBI[g : g + 1]
        return_below(x_GTBI[g], below_GIX[g], to_pre_TBX, to_x_1TBI, to_below_GIX[g], to_bias_GX[g], below_like)


@inlined
def divide_sigmoids(ratio_N: Array, x_N: Array, y_N: Array) -> None:
    """Fills ``ratio`` with sigm(x) / sigm(y). By sigm(x) = e^min(x, 0) / (1 + e^-|x|), the ratio is accurate even if
    both sigmoids are nearly zero. The exponent min(x, 0) - min(y, 0) is clipped to the range from -``LIMIT`` to
    ``LIMIT``.

    Three loops take an eighth of the time of a single loop, which LLVM does not vectorise.
    """
    for j in range(len(ratio_N)):
        exponent = min(x_N[j], ZERO) - min(y_N[j], ZERO)
        ratio_N[j] = ONE + exp_minus_1(min(max(exponent, -LIMIT), LIMIT))
    for j in range(len(ratio_N)):
        ratio_N[j] *= TWO + exp_minus_1(max(-abs(y_N[j]), -LIMIT))
    for j in range(len(ratio_N)):
        ratio_N[j] /= TWO + exp_minus_1(max(-abs(x_N[j]), -LIMIT))
