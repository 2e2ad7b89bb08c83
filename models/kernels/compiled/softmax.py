"""The loss of a softmax over scores, compiled, with its gradients: what ``models/parts/heads/softmax.py`` defines.

R lanes; N = UB tags, of which each is decided alone; F features, K tags to choose from.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arithmetic import ONE
from skipstack.models.kernels.compiled.arrays import arrays, numbers
from skipstack.models.kernels.compiled.reductions import SIDE_BY_SIDE, exponentials, largest, total
from skipstack.models.kernels.compiled.rowwise import Array, add, zero_row
from skipstack.models.kernels.compiling import compiled
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed


class CompiledLogLoss(Once):
    """-log y_t of each gold tag, y_t = softmax(W f_t + b): losses_RUB (nats); 0 at -1."""

    @staticmethod
    def forward(ctx: Any, features_RUBF: Tensor, weight_RFK: Tensor, bias_R1K: Tensor, gold_RUB: Tensor) -> Tensor:
        """losses_RUB. The softmax is kept for the gradients."""
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
        """The gradients of f, W and b."""
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
    """Fills the last two; y first holds the scores, then their softmax."""
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
    """Fills the last three. The gradient of a score is y, less 1 at the gold tag, times that of the loss."""
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
