"""The compiled character CNN and its gradients: the equation of ``models/parts/inputs/characters.py``.

Axes: R lanes (a lane is one seed's copy of the network); N spellings of at most C characters; W characters that a
filter sees; V characters of the corpus, with vectors of E entries; F filters; I = W * E.
"""

from typing import Any

import numpy as np
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arithmetic import ONE, tanh
from skipstack.models.kernels.compiled.arrays import arrays
from skipstack.models.kernels.compiled.rowwise import Array, add, put, zero, zero_row
from skipstack.models.kernels.compiling import compiled, inlined
from skipstack.models.kernels.gemm.product import multiply, pack, pack_transposed


class CompiledCharacterCnn(Once):
    """Computes y_RNF = max_j tanh(sum_w W_w e_{j+w-k} + b), over the positions j of characters; k = W // 2.

    If several sums are equally large, only the first gets the gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, ids_RNC: Tensor, boundary: int, table_RVE: Tensor, weight_RIF: Tensor, bias_R1F: Tensor
    ) -> Tensor:
        """Computes y_RNF from the ids of characters. Spellings are padded at the end with the id ``boundary``."""
        y_RNF = table_RVE.new_empty(*ids_RNC.shape[:2], bias_R1F.shape[-1])
        table, weight, bias, ids, y = arrays(table_RVE, weight_RIF, bias_R1F, ids_RNC, y_RNF)
        weight_RWEF = weight.reshape(len(weight), -1, table.shape[-1], weight.shape[-1])
        place_RNF = np.empty(y.shape, np.int32)
        forward(table, weight_RWEF, bias, ids, boundary, y, place_RNF)
        ctx.save_for_backward(y_RNF, ids_RNC, table_RVE, weight_RIF)
        ctx.known = table, weight_RWEF, ids, boundary, place_RNF
        return y_RNF

    @staticmethod
    @once
    def backward(ctx: Any, above_RNF: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the table of vectors, W and b."""
        y_RNF, *_ = ctx.saved_tensors
        table, weight, ids, boundary, place_RNF = ctx.known
        to_table_RVE, to_weight_RWEF = y_RNF.new_empty(table.shape), y_RNF.new_empty(weight.shape)
        to_bias_R1F = y_RNF.new_empty(len(y_RNF), 1, y_RNF.shape[-1])
        y, *given = arrays(y_RNF, above_RNF, to_table_RVE, to_weight_RWEF, to_bias_R1F)
        backward(table, weight, ids, boundary, y, place_RNF, *given)
        return None, None, to_table_RVE, to_weight_RWEF.flatten(1, 2), to_bias_R1F


@compiled
def forward(
    table_RVE: Array,
    weight_RWEF: Array,
    bias_R1F: Array,
    ids_RNC: Array,
    boundary: int,
    y_RNF: Array,
    place_RNF: Array,
) -> None:
    """Fills ``y_RNF``, and fills ``place_RNF`` with the position j of each maximum.

    Each character of the corpus is multiplied once for each position of a filter, and these products are then summed.
    This is usually less work than multiplying at each position of a batch, since the same characters recur in a batch.
    """
    lanes, width, _, filters = weight_RWEF.shape
    product_WVF = np.empty((width, table_RVE.shape[1], filters), y_RNF.dtype)
    sum_F = np.empty(filters, y_RNF.dtype)
    for r in range(lanes):
        bias = bias_R1F[r, 0]
        for w in range(width):
            multiply(table_RVE[r], pack(weight_RWEF[r, w]), product_WVF[w])
        for n in range(len(y_RNF[r])):
            ids, y, place = ids_RNC[r, n], y_RNF[r, n], place_RNF[r, n]
            zero_row(place)
            for j in range(length(ids, boundary)):
                put(sum_F, product_WVF[0, seen(ids, j, 0, width, boundary)])
                for w in range(1, width):
                    add(sum_F, product_WVF[w, seen(ids, j, w, width, boundary)])
                if j == 0:
                    put(y, sum_F)
                for f in range(filters):
                    place[f] = j if sum_F[f] > y[f] else place[f]
                for f in range(filters):  # keeps NaN
                    y[f] = y[f] if sum_F[f] <= y[f] or y[f] != y[f] else sum_F[f]
            for f in range(filters):
                y[f] = tanh(y[f] + bias[f])


@compiled
def backward(
    table_RVE: Array,
    weight_RWEF: Array,
    ids_RNC: Array,
    boundary: int,
    y_RNF: Array,
    place_RNF: Array,
    above_RNF: Array,
    to_table_RVE: Array,
    to_weight_RWEF: Array,
    to_bias_R1F: Array,
) -> None:
    """Fills ``to_table_RVE``, ``to_weight_RWEF`` and ``to_bias_R1F`` with the gradients of the table, W and b."""
    lanes, width, _, filters = weight_RWEF.shape
    to_product_WVF = np.empty((width, table_RVE.shape[1], filters), y_RNF.dtype)
    to_sum_F, seen_C = np.empty(filters, y_RNF.dtype), np.empty(ids_RNC.shape[2] + width, ids_RNC.dtype)
    for r in range(lanes):
        to_bias = to_bias_R1F[r, 0]
        zero_row(to_bias)
        for w in range(width):
            zero(to_product_WVF[w])
        for n in range(len(y_RNF[r])):
            ids, y, place, above = ids_RNC[r, n], y_RNF[r, n], place_RNF[r, n], above_RNF[r, n]
            for f in range(filters):
                to_sum_F[f] = above[f] * (ONE - y[f] * y[f])
            add(to_bias, to_sum_F)
            for at in range(len(seen_C)):
                seen_C[at] = seen(ids, at, 0, width, boundary)
            for w in range(width):
                for f in range(filters):
                    to_product_WVF[w, seen_C[place[f] + w], f] += to_sum_F[f]
        for w in range(width):
            multiply(table_RVE[r], pack(to_product_WVF[w]), to_weight_RWEF[r, w], x_turned=True)
            multiply(to_product_WVF[w], pack_transposed(weight_RWEF[r, w]), to_table_RVE[r], added=w > 0)


@inlined
def length(ids_C: Array, boundary: int) -> int:
    """Returns the number of characters of a spelling, but at least 1."""
    for j in range(1, len(ids_C)):
        if ids_C[j] == boundary:
            return j
    return len(ids_C)


@inlined
def seen(ids_C: Array, j: int, w: int, width: int, boundary: int) -> int:
    """Returns the id of the character that entry w of a filter sees when the filter is centred on character j. Outside
    the spelling, the id is ``boundary``.
    """
    at = j + w - width // 2
    return ids_C[at] if 0 <= at < len(ids_C) else boundary
