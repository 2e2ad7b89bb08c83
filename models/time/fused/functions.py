"""The loops of fused steps as operations of torch, with the gradients that ``models/time/`` defines.

X = 4H in an LSTM, 3H in a block; S = T + 1: all internal states, the first included.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.products import step_weight
from skipstack.models.time.fused import loops
from skipstack.models.time.lstm_loop import begun


class FusedLstm(torch.autograd.Function):
    """``ShortcutLoop``, and ``LstmLoop`` where the skip adds nothing."""

    @staticmethod
    def forward(
        ctx: Any,
        pre_GTBX: Tensor,
        weight_GHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        kept_GTBH: Tensor | None,
        start_2GBH: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """h_GTBH, and last_2GBH: h and c."""
        gates_GTBX = torch.empty_like(pre_GTBX, memory_format=torch.contiguous_format)
        h_GTBH, c_GSBH, tanh_GTBH = begun(gates_GTBX, weight_GHX.shape[1], start_2GBH)
        v_GTBH = None if kept_GTBH is None else torch.empty_like(tanh_GTBH)
        start_GBH = None if start_2GBH is None else start_2GBH[0]
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        given = pre_GTBX, step_GHX, internal_GTBH, output_GTBH, kept_GTBH, start_GBH
        loops.lstm_forward(*given, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, v_GTBH)
        ctx.save_for_backward(step_GHX, start_GBH, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH)
        ctx.added = [part is not None for part in (internal_GTBH, output_GTBH, kept_GTBH)]
        last_2GBH = torch.stack([h_GTBH[:, -1], c_GSBH[:, -1]])
        ctx.mark_non_differentiable(last_2GBH)
        return h_GTBH, last_2GBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U, and the parts of the skip."""
        gates_GTBX, h_GTBH = ctx.saved_tensors[2:4]
        pre_GTBX = torch.empty_like(gates_GTBX)
        added_GTBH = [torch.empty_like(h_GTBH) if wanted else None for wanted in ctx.added]
        weight_GHX = loops.lstm_backward(above_GTBH, *ctx.saved_tensors, pre_GTBX, *added_GTBH)
        return pre_GTBX, weight_GHX, *added_GTBH, None


class FusedBlock(torch.autograd.Function):
    """``BlockLoop``."""

    @staticmethod
    def forward(
        ctx: Any,
        pre_GTBX: Tensor,
        weight_GHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        shared_GTBH: Tensor | None,
        start_GBH: Tensor | None,
    ) -> Tensor:
        """h_GTBH."""
        gates_GTBX = torch.empty_like(pre_GTBX, memory_format=torch.contiguous_format)
        shape = *pre_GTBX.shape[:3], weight_GHX.shape[1]
        h_GTBH, tanh_GTBH = gates_GTBX.new_empty(shape), gates_GTBX.new_empty(shape)
        read_GTBH = tanh_GTBH if shared_GTBH is None else torch.empty_like(tanh_GTBH)
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        given = pre_GTBX, step_GHX, internal_GTBH, output_GTBH, shared_GTBH, start_GBH
        loops.block_forward(*given, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH)
        ctx.save_for_backward(step_GHX, start_GBH, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH)
        ctx.added = [part is not None for part in (internal_GTBH, output_GTBH, shared_GTBH)]
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U and what the skip adds."""
        gates_GTBX, h_GTBH = ctx.saved_tensors[2:4]
        pre_GTBX = torch.empty_like(gates_GTBX)
        added_GTBH = [torch.empty_like(h_GTBH) if wanted else None for wanted in ctx.added]
        weight_GHX = loops.block_backward(above_GTBH, *ctx.saved_tensors, pre_GTBX, *added_GTBH)
        return pre_GTBX, weight_GHX, *added_GTBH, None
