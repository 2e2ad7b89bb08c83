"""Compiled layers as operations of torch, with the gradients that ``models/time/`` defines.

X = 4H in an LSTM, 3H in a block; S = T + 1: all internal states, the first included. Weights have lanes and directions
apart, R and D, as parameters do.
"""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.compiled import block, lstm
from skipstack.models.compiled.arrays import ABSENT, arrays
from skipstack.models.compiled.pairs import PAIRS
from skipstack.models.products import rounds_rows, rounds_steps
from skipstack.models.time import block_loop, lstm_loop
from skipstack.models.time.lstm_loop import ended


class CompiledLstm(torch.autograd.Function):
    """``ShortcutLoop``, and ``LstmLoop`` where the skip adds nothing, with the products of what is below."""

    @staticmethod
    def forward(
        ctx: Any,
        x_GTBI: Tensor,
        below_RDIX: Tensor,
        bias_RDX: Tensor,
        recurrent_RDHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        kept_GTBH: Tensor | None,
        start_2GBH: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """h_GTBH, and last_2GBH: h and c."""
        weights = [each.flatten(0, 1) for each in (below_RDIX, bias_RDX, recurrent_RDHX)]
        gates_GTBX = x_GTBI.new_empty(*x_GTBI.shape[:3], bias_RDX.shape[-1])
        h_GTBH, c_GSBH, tanh_GTBH = lstm_loop.begun(gates_GTBX, recurrent_RDHX.shape[2], start_2GBH)
        v_GTBH = None if kept_GTBH is None else torch.empty_like(tanh_GTBH)
        start_G1BH = None if start_2GBH is None else start_2GBH[0].unsqueeze(1)
        parts = internal_GTBH, output_GTBH, kept_GTBH, start_G1BH
        ctx.factors = factors(x_GTBI)
        lstm.forward(*arrays(x_GTBI, *weights, *parts, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, v_GTBH), *ctx.factors)
        made = gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, kept_GTBH, v_GTBH
        ctx.save_for_backward(x_GTBI, below_RDIX, recurrent_RDHX, start_G1BH, *made)
        ctx.added = [part is not None for part in (internal_GTBH, output_GTBH, kept_GTBH)]
        return ended(ctx, h_GTBH, c_GSBH)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, the weights, and the parts of the skip."""
        return *returned(lstm.backward, ctx, above_GTBH), None


class CompiledBlock(torch.autograd.Function):
    """``BlockLoop``, likewise."""

    @staticmethod
    def forward(
        ctx: Any,
        x_GTBI: Tensor,
        below_RDIX: Tensor,
        bias_RDX: Tensor,
        recurrent_RDHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        shared_GTBH: Tensor | None,
        start_GBH: Tensor | None,
    ) -> Tensor:
        """h_GTBH."""
        weights = [each.flatten(0, 1) for each in (below_RDIX, bias_RDX, recurrent_RDHX)]
        gates_GTBX = x_GTBI.new_empty(*x_GTBI.shape[:3], bias_RDX.shape[-1])
        h_GTBH, read_GTBH, tanh_GTBH = block_loop.begun(gates_GTBX, recurrent_RDHX.shape[2], shared_GTBH)
        start_G1BH = None if start_GBH is None else start_GBH.unsqueeze(1)
        parts = internal_GTBH, output_GTBH, shared_GTBH, start_G1BH
        ctx.factors = factors(x_GTBI)
        block.forward(*arrays(x_GTBI, *weights, *parts, gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH), *ctx.factors)
        made = gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH
        ctx.save_for_backward(x_GTBI, below_RDIX, recurrent_RDHX, start_G1BH, *made)
        ctx.added = [part is not None for part in (internal_GTBH, output_GTBH, shared_GTBH)]
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, the weights, and what the skip adds."""
        return *returned(block.backward, ctx, above_GTBH), None


def factors(x_GTBI: Tensor) -> tuple[NDArray[Any], NDArray[Any]]:
    """Arrays like the factors of products: of all steps at once, and of a step."""
    _, steps, sentences, _ = x_GTBI.shape
    own = ABSENT[x_GTBI.dtype]
    return PAIRS if rounds_rows(steps * sentences) else own, PAIRS if rounds_steps(sentences) else own


def returned(backward: Any, ctx: Any, above_GTBH: Tensor) -> list[Tensor | None]:
    """The gradients of x, W, b, U and the three parts of the skip; None of what asks for none."""
    x_GTBI, below_RDIX, recurrent_RDHX, start_G1BH, gates_GTBX, h_GTBH, *others = ctx.saved_tensors
    to_x_GTBI = torch.empty_like(x_GTBI, memory_format=torch.contiguous_format) if ctx.needs_input_grad[0] else None
    lanes, directions, *_, width = below_RDIX.shape
    to_below_RDIX, to_recurrent_RDHX = (
        torch.empty_like(each, memory_format=torch.contiguous_format) for each in (below_RDIX, recurrent_RDHX)
    )
    to_weights = [to_below_RDIX, below_RDIX.new_empty(lanes, directions, width), to_recurrent_RDHX]
    to_added = [torch.empty_like(h_GTBH) if wanted else None for wanted in ctx.added]
    given = x_GTBI, below_RDIX.flatten(0, 1), recurrent_RDHX.flatten(0, 1), start_G1BH, gates_GTBX, h_GTBH, *others
    backward(
        *arrays(above_GTBH, *given, to_x_GTBI, *(each.flatten(0, 1) for each in to_weights), *to_added), *ctx.factors
    )
    return [to_x_GTBI, *to_weights, *to_added]
