"""Loops over time on a GPU, with one product and one kernel at each step: the equations of
``models/kernels/layers.py``.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, S = T + 1 internal states,
which begin with the state before the first step, B sentences, H hidden units, X pre-activations (4H in an LSTM, 3H in a
block), Y = 2H entries of a state [h; c]. GBH and GBX are one step of GTBH and GTBX.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.fused.operators import OPERATIONS
from skipstack.models.kernels.products import step_product, step_weight, transposed, weight_gradient


@multiplies
class FusedLstm(torch.autograd.Function):
    """The fused version of ``lstm_layer``. Its argument ``pre_GTBX`` already contains the product W x + b."""

    @staticmethod
    def forward(
        ctx: Any,
        pre_GTBX: Tensor,
        weight_GHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        kept_GTBH: Tensor | None,
        start_GBY: Tensor | None,
        updated: bool,
    ) -> tuple[Tensor, Tensor]:
        """Computes h_GTBH and the last state, last_GBY."""
        skip_GTBH = internal_GTBH, output_GTBH, kept_GTBH
        gates_GTBX = torch.empty_like(pre_GTBX, memory_format=torch.contiguous_format)
        (groups, steps, sentences, _), hidden = gates_GTBX.shape, weight_GHX.shape[1]
        h_GTBH, tanh_GTBH = (gates_GTBX.new_empty(groups, steps, sentences, hidden) for _ in range(2))
        c_GSBH = gates_GTBX.new_empty(groups, steps + 1, sentences, hidden)
        start_GBH, c_GSBH[:, 0] = (None, 0) if start_GBY is None else start_GBY.chunk(2, dim=-1)
        v_GTBH = None if kept_GTBH is None else torch.empty_like(tanh_GTBH)
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        product_GBX = step_GHX.new_empty(gates_GTBX[:, 0].shape)
        pre, gates, h, c, tanh = (by_step(each) for each in (pre_GTBX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH))
        a, b, k, v = (steps_of(part, len(pre)) for part in (*skip_GTBH, v_GTBH))
        for t in range(len(pre)):
            of_h_GBX = multiplied(h[t - 1] if t else start_GBH, step_GHX, product_GBX)
            made = gates[t], c[t + 1], tanh[t], v[t], h[t]
            OPERATIONS.lstm_forward(pre[t], of_h_GBX, c[t], a[t], b[t], k[t], *made, updated=updated)
        ctx.save_for_backward(step_GHX, start_GBH, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH)
        ctx.added, ctx.updated = [part is not None for part in skip_GTBH], updated
        last_GBY = torch.cat([h_GTBH[:, -1], c_GSBH[:, -1]], dim=-1)
        ctx.mark_non_differentiable(last_GBY)
        return h_GTBH, last_GBY

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the pre-activations, U, and the parts of the skip."""
        step_GHX, start_GBH, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH = ctx.saved_tensors
        pre_GTBX, added_GTBH = torch.empty_like(gates_GTBX), room(ctx.added, h_GTBH)
        above, gates, c, tanh, pre = (by_step(each) for each in (above_GTBH, gates_GTBX, c_GSBH, tanh_GTBH, pre_GTBX))
        k, v, to_a, to_b, to_k = (steps_of(part, len(pre)) for part in (kept_GTBH, v_GTBH, *added_GTBH))
        turned_GXH = transposed(step_GHX)
        to_c_GBH, product_GBH = torch.zeros_like(h_GTBH[:, 0]), turned_GXH.new_empty(h_GTBH[:, 0].shape)
        for t in reversed(range(len(pre))):
            of_pre_GBH = multiplied(pre[t + 1] if t + 1 < len(pre) else None, turned_GXH, product_GBH)
            known, to_skip = (gates[t], c[t], tanh[t], k[t], v[t]), (to_a[t], to_b[t], to_k[t])
            OPERATIONS.lstm_backward(above[t], of_pre_GBH, *known, to_c_GBH, pre[t], *to_skip, updated=ctx.updated)
        return pre_GTBX, recurrent_gradient(h_GTBH, pre_GTBX, start_GBH, step_GHX), *added_GTBH, None, None


@multiplies
class FusedBlock(torch.autograd.Function):
    """The fused version of ``block_layer``. Its argument ``pre_GTBX`` already contains the product W x + b."""

    @staticmethod
    def forward(ctx: Any, pre_GTBX: Tensor, weight_GHX: Tensor, *parts: Tensor | None) -> Tensor:
        """Computes h_GTBH, the outputs of all steps. ``parts``: a, b and q of the skip, and the start state."""
        *skip_GTBH, start_GBH = parts
        gates_GTBX = torch.empty_like(pre_GTBX, memory_format=torch.contiguous_format)
        h_GTBH, tanh_GTBH = (gates_GTBX.new_empty(*gates_GTBX.shape[:3], weight_GHX.shape[1]) for _ in range(2))
        read_GTBH = None if skip_GTBH[2] is None else torch.empty_like(tanh_GTBH)  # tanh(m) + q
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        product_GBX = step_GHX.new_empty(gates_GTBX[:, 0].shape)
        pre, gates, h, tanh = (by_step(each) for each in (pre_GTBX, gates_GTBX, h_GTBH, tanh_GTBH))
        a, b, q, read = (steps_of(part, len(pre)) for part in (*skip_GTBH, read_GTBH))
        for t in range(len(pre)):
            of_h_GBX = multiplied(h[t - 1] if t else start_GBH, step_GHX, product_GBX)
            OPERATIONS.block_forward(pre[t], of_h_GBX, a[t], b[t], q[t], gates[t], tanh[t], read[t], h[t])
        read_GTBH = tanh_GTBH if read_GTBH is None else read_GTBH
        ctx.save_for_backward(step_GHX, start_GBH, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH)
        ctx.added = [part is not None for part in skip_GTBH]
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of the pre-activations, U, and the terms that the skip adds."""
        step_GHX, start_GBH, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH = ctx.saved_tensors
        pre_GTBX, added_GTBH = torch.empty_like(gates_GTBX), room(ctx.added, h_GTBH)
        above, gates, read, tanh, pre = (
            by_step(each) for each in (above_GTBH, gates_GTBX, read_GTBH, tanh_GTBH, pre_GTBX)
        )
        to_a, to_b, to_q = (steps_of(part, len(pre)) for part in added_GTBH)
        turned_GXH = transposed(step_GHX)
        product_GBH = turned_GXH.new_empty(h_GTBH[:, 0].shape)
        for t in reversed(range(len(pre))):
            of_pre_GBH = multiplied(pre[t + 1] if t + 1 < len(pre) else None, turned_GXH, product_GBH)
            known = gates[t], tanh[t], read[t]
            OPERATIONS.block_backward(above[t], of_pre_GBH, *known, pre[t], to_a[t], to_b[t], to_q[t])
        return pre_GTBX, recurrent_gradient(h_GTBH, pre_GTBX, start_GBH, step_GHX), *added_GTBH, None


def multiplied(of: Tensor | None, step: Tensor, out: Tensor) -> Tensor | None:
    """Computes the product of ``step`` and ``of`` (U h_{t-1} or U^T pre_{t+1}') into ``out``, and returns ``out``. If
    there is no step t - 1 or t + 1, ``of`` is None, and the result is None, which stands for zero.

    The kernel adds the product to its other terms; ``torch.baddbmm`` would first copy these terms, in another launch.
    """
    return None if of is None else step_product(of, step, out)


def room(added: Sequence[bool], like_GTBH: Tensor) -> list[Tensor | None]:
    """Allocates tensors for the gradients of a skip's parts; None for an absent part."""
    return [torch.empty_like(like_GTBH) if there else None for there in added]


def by_step(x_GTBI: Tensor) -> tuple[Tensor, ...]:
    """Returns the steps of a tensor, which is made contiguous first."""
    return x_GTBI.contiguous().unbind(1)


def steps_of(part_GTBH: Tensor | None, steps: int) -> Sequence[Tensor | None]:
    """Returns the steps of a part, as ``by_step`` does. An absent part has None for each step."""
    return (None,) * steps if part_GTBH is None else by_step(part_GTBH)


def recurrent_gradient(h_GTBH: Tensor, pre_GTBX: Tensor, start_GBH: Tensor | None, step_GHX: Tensor) -> Tensor:
    """Computes U' = sum_t h_{t-1} pre_t'^T, where ``pre_GTBX`` is pre', and ``start`` is h_0; None means zeros."""
    before_GNH, pre_GNX = h_GTBH[:, :-1].flatten(1, 2), pre_GTBX[:, 1:].flatten(1, 2)
    weight_GHX = weight_gradient(before_GNH, pre_GNX, step_GHX)
    return weight_GHX if start_GBH is None else weight_GHX + weight_gradient(start_GBH, pre_GTBX[:, 0], step_GHX)
