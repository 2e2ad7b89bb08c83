"""The compiled loss of a softmax over scores, and its gradients, as defined by ``models/parts/heads/softmax.py``.

Axes: R lanes (a lane is one seed's copy of the network); N = U * B tags, each decided alone; U tags of a sentence,
B sentences; F features; K tags to choose from.
"""

import math
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arithmetic import ONE, parts_of_exp
from skipstack.models.kernels.compiled.arrays import arrays, numbers
from skipstack.models.kernels.compiled.rowwise import Array, add, zero_row
from skipstack.models.kernels.compiling import compiled, inlined
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed

SIDE_BY_SIDE: Final = 16
"""The number of partial sums, or maxima, that are computed side by side and combined at the end."""
LEAST: Final = np.float32(-87)
"""The lower limit to which smaller x are raised: about the least x for which exp(x) is a normal float32."""


class CompiledLogLoss(Once):
    """Computes -log y_t of each gold tag in nats, where y_t = softmax(W f_t + b); 0 if the gold tag is -1."""

    @staticmethod
    def forward(ctx: Any, features_RUBF: Tensor, weight_RFK: Tensor, bias_R1K: Tensor, gold_RUB: Tensor) -> Tensor:
        """Computes losses_RUB. The softmax is kept for the gradients."""
        losses_RUB = features_RUBF.new_empty(gold_RUB.shape)
        features, weight, bias, gold, losses = arrays(features_RUBF, weight_RFK, bias_R1K, gold_RUB, losses_RUB)
        lanes, tags = gold.shape[0], weight.shape[2]
        x_RNF, gold_RN = features.reshape(lanes, -1, features.shape[3]), gold.reshape(lanes, -1)
        y_RNK = np.empty((*gold_RN.shape, tags), features.dtype)
        forward(x_RNF, weight, bias, gold_RN, y_RNK, losses.reshape(lanes, -1))
        ctx.known = x_RNF, weight, gold_RN, y_RNK
        ctx.save_for_backward(features_RUBF, weight_RFK, gold_RUB)
        return losses_RUB

    @staticmethod
    @once
    def backward(ctx: Any, above_RUB: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of f, W and b."""
        x_RNF, weight, gold_RN, y_RNK = ctx.known
        lanes, _, features = x_RNF.shape
        to_features_RUBF = above_RUB.new_empty(*above_RUB.shape, features)
        to_weight_RFK, to_bias_R1K = above_RUB.new_empty(weight.shape), above_RUB.new_empty(lanes, 1, weight.shape[2])
        above = numbers(above_RUB).reshape(lanes, -1)
        to_x_RNF, to_weight, to_bias = arrays(to_features_RUBF.view(x_RNF.shape), to_weight_RFK, to_bias_R1K)
        backward(above, x_RNF, weight, gold_RN, y_RNK, to_x_RNF, to_weight, to_bias)
        return to_features_RUBF, to_weight_RFK, to_bias_R1K, None


@compiled
def forward(
    x_RNF: Array, weight_RFK: Array, bias_R1K: Array, gold_RN: NDArray[np.int64], y_RNK: Array, losses_RN: Array
) -> None:
    """Fills ``y_RNK`` with the softmax (at first with the scores), and ``losses_RN`` with the losses."""
    room = np.empty(SIDE_BY_SIDE, y_RNK.dtype)
    for r in range(len(x_RNF)):
        multiply(x_RNF[r], pack(weight_RFK[r]), y_RNK[r])
        for n in range(len(gold_RN[r])):
            row, gold = y_RNK[r, n], gold_RN[r, n]
            add(row, bias_R1K[r, 0])
            most = largest(row, room)
            for k in range(len(row)):
                row[k] -= most
            score = row[max(gold, 0)]
            exponentials(row)
            whole = total(row, room)
            losses_RN[r, n] = np.log(whole) - score if gold >= 0 else 0
            share = ONE / whole
            for k in range(len(row)):
                row[k] *= share


@compiled
def backward(
    above_RN: Array,
    x_RNF: Array,
    weight_RFK: Array,
    gold_RN: NDArray[np.int64],
    y_RNK: Array,
    to_x_RNF: Array,
    to_weight_RFK: Array,
    to_bias_R1K: Array,
) -> None:
    """Fills ``to_x``, ``to_weight`` and ``to_bias`` with the gradients of the features, W and b. A score's gradient is
    the loss's gradient times y, or times y - 1 for the gold tag. If the gold tag is -1, the score's gradient is 0.
    """
    to_score_NK = np.empty(y_RNK.shape[1:], y_RNK.dtype)
    for r in range(len(x_RNF)):
        to_bias = to_bias_R1K[r, 0]
        zero_row(to_bias)
        for n in range(len(to_score_NK)):
            row, y, gold, above = to_score_NK[n], y_RNK[r, n], gold_RN[r, n], above_RN[r, n]
            if gold < 0:
                zero_row(row)
                continue
            for k in range(len(row)):
                row[k] = y[k] * above
            row[gold] -= above
            add(to_bias, row)
        multiply(to_score_NK, pack_transposed(weight_RFK[r]), to_x_RNF[r])
        multiply(x_RNF[r], pack(to_score_NK), to_weight_RFK[r], x_turned=True)


@inlined
def total(row_K: Array, sums: Array) -> Any:
    """Sums a row. ``sums``: scratch memory for ``SIDE_BY_SIDE`` sums."""
    zero_row(sums)
    whole = len(row_K) // SIDE_BY_SIDE * SIDE_BY_SIDE
    for first in range(0, whole, SIDE_BY_SIDE):
        for k in range(SIDE_BY_SIDE):
            sums[k] += row_K[first + k]
    for k in range(whole, len(row_K)):
        sums[k - whole] += row_K[k]
    found = sums[0]
    for k in range(1, SIDE_BY_SIDE):
        found += sums[k]
    return found


@inlined
def largest(row_K: Array, most: Array) -> Any:
    """Returns the largest number of a row, but may miss NaN. ``most``: scratch memory for ``SIDE_BY_SIDE`` maxima."""
    for k in range(SIDE_BY_SIDE):
        most[k] = row_K[0]
    whole = len(row_K) // SIDE_BY_SIDE * SIDE_BY_SIDE
    for first in range(0, whole, SIDE_BY_SIDE):
        for k in range(SIDE_BY_SIDE):
            most[k] = max(most[k], row_K[first + k])
    for k in range(whole, len(row_K)):
        most[0] = max(most[0], row_K[k])
    found = most[0]
    for k in range(1, SIDE_BY_SIDE):
        found = max(found, most[k])
    return found


@inlined
def exponentials(row_K: Array) -> None:
    """Replaces each number of a row by its exponential. No number may be above 0."""
    for k in range(len(row_K)):
        row_K[k] = exp(row_K[k])


def exp(x: Any) -> Any:
    """Computes the exponential of x <= 0."""
    return np.exp(x)


@overload(exp)  # type: ignore[untyped-decorator]
def _by_type(x: Any) -> Any:
    return _of_float32 if x is types.float32 else _of_float64


def _of_float64(x: Any) -> Any:
    return math.exp(x)


@inlined
def _of_float32(x: Any) -> Any:
    """Computes exp(x) as 2^k exp(r); ``parts_of_exp`` defines k and r."""
    two_to_k, exp_r_minus_1 = parts_of_exp(LEAST if x < LEAST else x)  # noqa: FURB136 (a maximum may lose NaN)
    return two_to_k * (ONE + exp_r_minus_1)
