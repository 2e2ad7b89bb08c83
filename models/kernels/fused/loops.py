"""Loops over time on a GPU, a product and one kernel per step, with the gradients of ``models/kernels/reference/``.

X = 4H in an LSTM, 3H in a block; S = T + 1: all internal states, the first included. GBH and GBX are one step of GTBH
and GTBX.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.fused.operators import OPERATIONS
from skipstack.models.kernels.products import step_product, step_weight, transposed
from skipstack.models.kernels.reference import block_loop
from skipstack.models.kernels.reference.steps import begun, ended, recurrent_gradient


@multiplies
class FusedLstm(torch.autograd.Function):
    """``ShortcutLoop`` with fused steps."""

    @staticmethod
    def forward(ctx: Any, pre_GTBX: Tensor, weight_GHX: Tensor, *parts: Tensor | None) -> tuple[Tensor, Tensor]:
        """h_GTBH, and last_2GBH: h and c. ``parts``: a, b and k of the skip, and the first state."""
        *skip_GTBH, start_2GBH = parts
        gates_GTBX = torch.empty_like(pre_GTBX, memory_format=torch.contiguous_format)
        h_GTBH, c_GSBH, tanh_GTBH = begun(gates_GTBX, weight_GHX.shape[1], start_2GBH)
        v_GTBH = None if skip_GTBH[2] is None else torch.empty_like(tanh_GTBH)
        start_GBH = None if start_2GBH is None else start_2GBH[0]
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        product_GBX = step_GHX.new_empty(gates_GTBX[:, 0].shape)
        pre, gates, h, c, tanh = (by_step(each) for each in (pre_GTBX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH))
        a, b, k, v = (steps_of(part, len(pre)) for part in (*skip_GTBH, v_GTBH))
        for t in range(len(pre)):
            of_h_GBX = multiplied(h[t - 1] if t else start_GBH, step_GHX, product_GBX)
            made = gates[t], c[t + 1], tanh[t], v[t], h[t]
            OPERATIONS.lstm_forward(pre[t], of_h_GBX, c[t], a[t], b[t], k[t], *made)
        ctx.save_for_backward(step_GHX, start_2GBH, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, skip_GTBH[2], v_GTBH)
        ctx.added = [part is not None for part in skip_GTBH]
        return ended(ctx, h_GTBH, c_GSBH)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U, and the parts of the skip."""
        step_GHX, start_2GBH, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH = ctx.saved_tensors
        pre_GTBX, added_GTBH = torch.empty_like(gates_GTBX), room(ctx.added, h_GTBH)
        above, gates, c, tanh, pre = (by_step(each) for each in (above_GTBH, gates_GTBX, c_GSBH, tanh_GTBH, pre_GTBX))
        k, v, to_a, to_b, to_k = (steps_of(part, len(pre)) for part in (kept_GTBH, v_GTBH, *added_GTBH))
        turned_GXH = transposed(step_GHX)
        to_c_GBH, product_GBH = torch.zeros_like(h_GTBH[:, 0]), turned_GXH.new_empty(h_GTBH[:, 0].shape)
        for t in reversed(range(len(pre))):
            of_pre_GBH = multiplied(pre[t + 1] if t + 1 < len(pre) else None, turned_GXH, product_GBH)
            known = gates[t], c[t], tanh[t], k[t], v[t]
            OPERATIONS.lstm_backward(above[t], of_pre_GBH, *known, to_c_GBH, pre[t], to_a[t], to_b[t], to_k[t])
        start_GBH = None if start_2GBH is None else start_2GBH[0]
        return pre_GTBX, recurrent_gradient(h_GTBH, pre_GTBX, start_GBH, step_GHX), *added_GTBH, None


@multiplies
class FusedBlock(torch.autograd.Function):
    """``BlockLoop`` with fused steps."""

    @staticmethod
    def forward(ctx: Any, pre_GTBX: Tensor, weight_GHX: Tensor, *parts: Tensor | None) -> Tensor:
        """h_GTBH. ``parts``: a, b and q of the skip, and the first state."""
        *skip_GTBH, start_GBH = parts
        gates_GTBX = torch.empty_like(pre_GTBX, memory_format=torch.contiguous_format)
        h_GTBH, read_GTBH, tanh_GTBH = block_loop.begun(gates_GTBX, weight_GHX.shape[1], skip_GTBH[2])
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        product_GBX = step_GHX.new_empty(gates_GTBX[:, 0].shape)
        apart_GTBH = None if skip_GTBH[2] is None else read_GTBH
        pre, gates, h, tanh = (by_step(each) for each in (pre_GTBX, gates_GTBX, h_GTBH, tanh_GTBH))
        a, b, q, read = (steps_of(part, len(pre)) for part in (*skip_GTBH, apart_GTBH))
        for t in range(len(pre)):
            of_h_GBX = multiplied(h[t - 1] if t else start_GBH, step_GHX, product_GBX)
            OPERATIONS.block_forward(pre[t], of_h_GBX, a[t], b[t], q[t], gates[t], tanh[t], read[t], h[t])
        ctx.save_for_backward(step_GHX, start_GBH, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH)
        ctx.added = [part is not None for part in skip_GTBH]
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U and what the skip adds."""
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
    """U h_{t-1}, or U^T pre_{t+1}', in ``out``; None: there is no such step, and its product is zero.

    The kernel adds it: ``torch.baddbmm`` would first copy what it adds, in a launch of its own.
    """
    return None if of is None else step_product(of, step, out)


def room(added: Sequence[bool], like_GTBH: Tensor) -> list[Tensor | None]:
    """Tensors for the gradients of a skip's parts; None for an absent part."""
    return [torch.empty_like(like_GTBH) if there else None for there in added]


def by_step(x_GTBI: Tensor) -> tuple[Tensor, ...]:
    """The steps of a tensor, which is made contiguous."""
    return x_GTBI.contiguous().unbind(1)


def steps_of(part_GTBH: Tensor | None, steps: int) -> Sequence[Tensor | None]:
    """The steps of a part, as from ``by_step``; for an absent part, None for each step."""
    return (None,) * steps if part_GTBH is None else by_step(part_GTBH)
