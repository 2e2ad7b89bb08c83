"""Compiled layers as operations of torch, each including the product of the input from below.

The backward pass reads arrays that the forward pass kept, since converting tensors to arrays again takes time. The
tensors are also saved with torch. So torch detects tensors that were overwritten in between, and memory planning
(``search/api/planning/``) can count the saved tensors.

Axes: R lanes (a lane is one seed's copy of the network), D reading directions, G = R * D, T time steps, S = T + 1
internal states, which begin with the state before the first step, B sentences, I inputs from the layer below, H hidden
units, Y = 2H entries of a state [h; c]. X pre-activations: 4H in an LSTM, 3H in a block, a GRU and a minLSTM, 2H in a
minGRU. Weights have separate axes for lanes and directions, as parameters do.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.ground.precision import rounds_rows, rounds_steps
from skipstack.models.kernels.compiled.arrays import ABSENT, arrays
from skipstack.models.kernels.compiled.time import block, gru, lstm, minimal
from skipstack.models.kernels.gemm.pairs import PAIRS


class CompiledLstm(Once):
    """The compiled version of ``lstm_layer`` (``models/kernels/layers.py``)."""

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
        start_GBY: Tensor | None,
        updated: bool,
    ) -> tuple[Tensor, Tensor]:
        """Computes the outputs of all steps, h_GTBH, and the last state, last_GBY."""
        weights, skip_GTBH = (below_RDIX, bias_RDX, recurrent_RDHX), (internal_GTBH, output_GTBH, kept_GTBH)
        start_2GBH = None if start_GBY is None else torch.stack(start_GBY.chunk(2, dim=-1))
        h_GTBH, last_GBY = lstm_through_time(ctx, x_GTBI, weights, skip_GTBH, start_2GBH, updated=updated)
        ctx.mark_non_differentiable(last_GBY)
        return h_GTBH, last_GBY

    @staticmethod
    @once
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of x, the weights, and the parts of the skip."""
        asked = ctx.needs_input_grad
        return *returned(lstm.backward, ctx, above_GTBH, of_x=asked[0], of_skip=asked[4:7]), None, None


def lstm_through_time(
    ctx: Any,
    x_GTBI: Tensor,
    weights: Sequence[Tensor],
    skip_GTBH: Sequence[Tensor | None] = (None, None, None),
    start_2GBH: Tensor | None = None,
    read_too: Sequence[Tensor | None] = (),
    *,
    updated: bool = False,
) -> tuple[Tensor, Tensor]:
    """Computes the outputs of ``CompiledLstm``, h_GTBH and last_GBY.

    ``weights``: W, b and U. ``skip_GTBH``: the parts a, b and k of the skip (see ``lstm_layer``). ``start_2GBH``: h and
    c before the first step. ``read_too``: further tensors to save in ``ctx``, for the caller's backward pass.
    ``updated``: as in ``lstm_layer``.
    """
    (groups, steps, sentences, _), (_, _, hidden, width) = x_GTBI.shape, weights[2].shape
    gates_GTBX = x_GTBI.new_empty(groups, steps, sentences, width)
    h_GTBH, tanh_GTBH = (x_GTBI.new_empty(groups, steps, sentences, hidden) for _ in range(2))
    c_GSBH = x_GTBI.new_empty(groups, steps + 1, sentences, hidden)
    v_GTBH = None if skip_GTBH[2] is None else torch.empty_like(tanh_GTBH)
    last_GBY = x_GTBI.new_empty(groups, sentences, 2 * hidden)
    x, a, b, k, start = arrays(x_GTBI, *skip_GTBH, start_2GBH)
    made = arrays(gates_GTBX, h_GTBH.detach(), c_GSBH, tanh_GTBH, v_GTBH, last_GBY)
    below, bias, recurrent = in_groups(*weights)
    ctx.factors = factors(x_GTBI)
    lstm.forward(x, below, bias, recurrent, a, b, k, updated, start, *made, *ctx.factors)
    ctx.known = x, below, recurrent, start, *made[:-1], k, updated
    ctx.shapes = [each.shape for each in weights]
    given = x_GTBI, weights[0], weights[2], skip_GTBH[2], start_2GBH
    ctx.save_for_backward(gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, v_GTBH, *given, *read_too)
    return h_GTBH, last_GBY


class CompiledBlock(Once):
    """The compiled version of ``block_layer``."""

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
        """Computes the outputs of all steps: h_GTBH."""
        (groups, steps, sentences, _), (hidden, width) = x_GTBI.shape, recurrent_RDHX.shape[2:]
        gates_GTBX = x_GTBI.new_empty(groups, steps, sentences, width)
        h_GTBH, tanh_GTBH = (x_GTBI.new_empty(groups, steps, sentences, hidden) for _ in range(2))
        read_GTBH = tanh_GTBH if shared_GTBH is None else torch.empty_like(tanh_GTBH)
        start_1GBH = None if start_GBH is None else start_GBH.unsqueeze(0)
        x, a, b, q, start = arrays(x_GTBI, internal_GTBH, output_GTBH, shared_GTBH, start_1GBH)
        made = arrays(gates_GTBX, h_GTBH.detach(), read_GTBH, tanh_GTBH)
        below, bias, recurrent = in_groups(below_RDIX, bias_RDX, recurrent_RDHX)
        ctx.factors = factors(x_GTBI)
        block.forward(x, below, bias, recurrent, a, b, q, start, *made, *ctx.factors)
        ctx.known = x, below, recurrent, start, *made
        ctx.shapes = below_RDIX.shape, bias_RDX.shape, recurrent_RDHX.shape
        ctx.save_for_backward(gates_GTBX, h_GTBH, read_GTBH, tanh_GTBH, x_GTBI, below_RDIX, recurrent_RDHX, start_GBH)
        return h_GTBH

    @staticmethod
    @once
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of x, the weights, and the terms of the skip."""
        asked = ctx.needs_input_grad
        return *returned(block.backward, ctx, above_GTBH, of_x=asked[0], of_skip=asked[4:7]), None


class CompiledGru(Once):
    """The compiled version of ``gru_layer``."""

    @staticmethod
    def forward(
        ctx: Any,
        x_GTBI: Tensor,
        below_RDIX: Tensor,
        bias_RDX: Tensor,
        recurrent_RDHX: Tensor,
        bias_of_h_RDH: Tensor,
        start_GBH: Tensor | None,
    ) -> Tensor:
        """Computes the outputs of all steps: h_GTBH."""
        return gru_through_time(ctx, x_GTBI, (below_RDIX, bias_RDX, recurrent_RDHX, bias_of_h_RDH), start_GBH)

    @staticmethod
    @once
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of x and the weights."""
        return *returned(gru.backward, ctx, above_GTBH, of_x=ctx.needs_input_grad[0]), None


def gru_through_time(
    ctx: Any,
    x_GTBI: Tensor,
    weights: Sequence[Tensor],
    start_GBH: Tensor | None = None,
    read_too: Sequence[Tensor | None] = (),
) -> Tensor:
    """Computes h_GTBH of ``CompiledGru``. ``weights``: W, b, U, b_hn. ``read_too``: see ``lstm_through_time``."""
    (groups, steps, sentences, _), (hidden, width) = x_GTBI.shape, weights[2].shape[2:]
    gates_GTBX = x_GTBI.new_empty(groups, steps, sentences, width)
    h_GTBH, recalled_GTBH = (x_GTBI.new_empty(groups, steps, sentences, hidden) for _ in range(2))
    x, start = arrays(x_GTBI, None if start_GBH is None else start_GBH.unsqueeze(0))
    made = arrays(gates_GTBX, h_GTBH.detach(), recalled_GTBH)
    below, bias, recurrent, bias_of_h = in_groups(*weights)
    ctx.factors = factors(x_GTBI)
    gru.forward(x, below, bias, recurrent, bias_of_h, start, *made, *ctx.factors)
    ctx.known = x, below, recurrent, start, *made
    ctx.shapes = [each.shape for each in weights]
    given = x_GTBI, weights[0], weights[2], start_GBH
    ctx.save_for_backward(gates_GTBX, h_GTBH, recalled_GTBH, *given, *read_too)
    return h_GTBH


class CompiledMinimal(Once):
    """The compiled version of ``minimal_layer``. ``gates``: 1 in a minGRU, 2 in a minLSTM."""

    @staticmethod
    def forward(
        ctx: Any, x_GTBI: Tensor, below_RDIX: Tensor, bias_RDX: Tensor, gates: int, start_GBH: Tensor | None
    ) -> Tensor:
        """Computes the outputs of all steps: h_GTBH."""
        return minimal_through_time(ctx, x_GTBI, (below_RDIX, bias_RDX), start_GBH, gates=gates)

    @staticmethod
    @once
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of x and the weights."""
        return *returned(minimal.backward, ctx, above_GTBH, of_x=ctx.needs_input_grad[0]), None, None


def minimal_through_time(
    ctx: Any,
    x_GTBI: Tensor,
    weights: Sequence[Tensor],
    start_GBH: Tensor | None = None,
    read_too: Sequence[Tensor | None] = (),
    *,
    gates: int,
) -> Tensor:
    """Computes h_GTBH of ``CompiledMinimal``. ``weights``: W, b. ``read_too``: see ``lstm_through_time``."""
    (groups, steps, sentences, _), width = x_GTBI.shape, weights[1].shape[-1]
    gates_GTBX = x_GTBI.new_empty(groups, steps, sentences, width)
    h_GTBH = x_GTBI.new_empty(groups, steps, sentences, width // (gates + 1))
    x, start = arrays(x_GTBI, None if start_GBH is None else start_GBH.unsqueeze(0))
    ratio_GTBH = None if gates == 1 else torch.empty_like(h_GTBH)
    made = arrays(gates_GTBX, h_GTBH.detach(), ratio_GTBH)
    below, bias = in_groups(*weights)
    ctx.factors = factors(x_GTBI)[:1]
    minimal.forward(x, below, bias, start, *made, *ctx.factors)
    ctx.known = x, below, start, *made
    ctx.shapes = [each.shape for each in weights]
    ctx.save_for_backward(gates_GTBX, h_GTBH, ratio_GTBH, x_GTBI, weights[0], start_GBH, *read_too)
    return h_GTBH


def factors(x_GTBI: Tensor) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns two empty arrays that decide whether factors are rounded to bfloat16 (``gemm/pairs.py``). The first is
    for products of all steps at once, the second for products of one step.
    """
    _, steps, sentences, _ = x_GTBI.shape
    own = ABSENT[x_GTBI.dtype]
    return PAIRS if rounds_rows(steps * sentences) else own, PAIRS if rounds_steps(sentences) else own


def in_groups(*weights_RD: Tensor) -> list[NDArray[Any]]:
    """Returns weights as arrays, with one axis for lanes and directions."""
    return [each.reshape(-1, *each.shape[2:]) for each in arrays(*weights_RD)]


def returned(
    backward: Callable[..., None], ctx: Any, above_GTBH: Tensor, *, of_x: bool, of_skip: Sequence[bool] = ()
) -> list[Tensor | None]:
    """Computes the gradients of x, the weights and the skip's parts, by the compiled function ``backward``. ``of_x``,
    ``of_skip``: whether the gradients of x and of each part are needed. If not, None replaces the gradient.
    """
    to_x_GTBI = above_GTBH.new_empty(ctx.known[0].shape) if of_x else None
    to_weights = [above_GTBH.new_empty(shape) for shape in ctx.shapes]
    to_added = [above_GTBH.new_empty(above_GTBH.shape) if wanted else None for wanted in of_skip]
    above, to_x, *to_parts = arrays(above_GTBH, to_x_GTBI, *to_added)
    backward(above, *ctx.known, to_x, *in_groups(*to_weights), *to_parts, *ctx.factors)
    return [to_x_GTBI, *to_weights, *to_added]


class ThroughTime(NamedTuple):
    """A layer without a skip.

    ``forward``: its forward pass, which returns h_GTBH. ``backward``: its compiled backward pass. ``parts``: how many
    arguments of ``backward`` are arrays for the gradients of a skip's parts. Here, all of these are absent.
    """

    forward: Callable[..., Tensor]
    backward: Callable[..., None]
    parts: int = 0


LAYERS: Final = {
    "lstm": ThroughTime(lambda *given, **others: lstm_through_time(*given, **others)[0], lstm.backward, parts=3),
    "gru": ThroughTime(gru_through_time, gru.backward),
    "min_gru": ThroughTime(partial(minimal_through_time, gates=1), minimal.backward),
    "min_lstm": ThroughTime(partial(minimal_through_time, gates=2), minimal.backward),
}
"""The layers, by the names of their cells."""
