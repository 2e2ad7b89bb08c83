"""The compiled loops as operations of torch, with the gradients that ``models/time/`` defines."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.time.compiled import block, lstm
from skipstack.models.time.lstm_loop import begun

ABSENT: dict[torch.dtype, NDArray[Any]] = {
    torch.float32: np.empty((0, 0, 0, 0), np.float32),
    torch.float64: np.empty((0, 0, 0, 0), np.float64),
}
"""What stands for a part that there is not."""


class CompiledLstm(torch.autograd.Function):
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
        start_GBH, start_G1BH = (None, None) if start_2GBH is None else (start_2GBH[0], start_2GBH[0].unsqueeze(1))
        given = pre_GTBX, weight_GHX, internal_GTBH, output_GTBH, kept_GTBH, start_G1BH
        lstm.forward(*arrays(*given, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, v_GTBH, like=gates_GTBX))
        ctx.save_for_backward(weight_GHX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH, start_GBH)
        ctx.added = internal_GTBH is not None, output_GTBH is not None
        last_2GBH = torch.stack([h_GTBH[:, -1], c_GSBH[:, -1]])
        ctx.mark_non_differentiable(last_2GBH)
        return h_GTBH, last_2GBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U, and the parts of the skip."""
        weight_GHX, gates_GTBX, output_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH, start_GBH = ctx.saved_tensors
        pre_GTBX, to_kept = torch.empty_like(gates_GTBX), kept_GTBH is not None
        added_GTBH = [torch.empty_like(tanh_GTBH) if wanted else None for wanted in (*ctx.added, to_kept)]
        known = gates_GTBX, output_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH
        to_weight_GHX = torch.empty_like(weight_GHX, memory_format=torch.contiguous_format)
        lstm.backward(*arrays(above_GTBH, weight_GHX, *known, pre_GTBX, to_weight_GHX, *added_GTBH, like=gates_GTBX))
        add_first(to_weight_GHX, start_GBH, pre_GTBX)
        return pre_GTBX, to_weight_GHX, *added_GTBH, None


class CompiledBlock(torch.autograd.Function):
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
        start_G1BH = None if start_GBH is None else start_GBH.unsqueeze(1)
        given = pre_GTBX, weight_GHX, internal_GTBH, output_GTBH, shared_GTBH, start_G1BH
        block.forward(*arrays(*given, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH, like=gates_GTBX))
        ctx.save_for_backward(weight_GHX, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH, start_GBH)
        ctx.added = [added is not None for added in (internal_GTBH, output_GTBH, shared_GTBH)]
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U and what the skip adds."""
        weight_GHX, gates_GTBX, output_GTBH, read_GTBH, tanh_GTBH, start_GBH = ctx.saved_tensors
        pre_GTBX = torch.empty_like(gates_GTBX)
        added_GTBH = [torch.empty_like(tanh_GTBH) if wanted else None for wanted in ctx.added]
        known = gates_GTBX, output_GTBH, read_GTBH, tanh_GTBH
        to_weight_GHX = torch.empty_like(weight_GHX, memory_format=torch.contiguous_format)
        block.backward(*arrays(above_GTBH, weight_GHX, *known, pre_GTBX, to_weight_GHX, *added_GTBH, like=gates_GTBX))
        add_first(to_weight_GHX, start_GBH, pre_GTBX)
        return pre_GTBX, to_weight_GHX, *added_GTBH, None


def add_first(to_weight_GHX: Tensor, start_GBH: Tensor | None, to_pre_GTBX: Tensor) -> None:
    """What the first step adds to the gradient of U: h_0 pre_1'^T."""
    if start_GBH is not None:
        to_weight_GHX.baddbmm_(start_GBH.transpose(1, 2), to_pre_GTBX[:, 0])


def arrays(*tensors: Tensor | None, like: Tensor) -> list[NDArray[Any]]:
    """The numbers of each, copied where they do not stand row after row; of an absent one, none."""
    absent = ABSENT[like.dtype]
    return [absent if tensor is None else numbers(tensor) for tensor in tensors]


def numbers(tensor: Tensor) -> NDArray[Any]:
    """Those of a tensor, whether or not it asks for gradients."""
    constant = tensor.detach() if tensor.requires_grad else tensor
    array: NDArray[Any] = constant.contiguous().numpy()
    return array
