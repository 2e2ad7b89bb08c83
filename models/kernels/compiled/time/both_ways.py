"""A layer in both directions from the order in which sentences are written, and back into it, compiled as one function.
Three functions of torch would take longer to be called than what they move.
"""

from typing import Any

from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arrays import ABSENT, arrays
from skipstack.models.kernels.compiled.time import lstm
from skipstack.models.kernels.compiled.time.loops import lstm_through_time, returned
from skipstack.models.kernels.compiled.time.moves import moved, moved_back


class CompiledLstmBothWays(Once):
    """``ReadingOrder.apart``, ``CompiledLstm`` and ``ReadingOrder.together``, which multiplies by what is kept."""

    @staticmethod
    def forward(ctx: Any, x_RTBI: Tensor, lengths_RB: Tensor, kept_GTBH: Tensor | None, *weights: Tensor) -> Tensor:
        """h_RTB(2H)."""
        _, *ctx.moves = arrays(x_RTBI, lengths_RB, kept_GTBH)
        ctx.shape = x_RTBI.shape
        x_GTBI = moved("apart", x_RTBI, ctx.moves[0], ABSENT[x_RTBI.dtype])
        h_GTBH, _ = lstm_through_time(ctx, x_GTBI, weights, read_too=(lengths_RB, kept_GTBH))
        ctx.between = h_GTBH.shape
        return moved("together", h_GTBH, *ctx.moves)

    @staticmethod
    @once
    def backward(ctx: Any, above_RTBF: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x and the weights."""
        above_GTBH = moved_back("together", above_RTBF, ctx.between, *ctx.moves)
        to_x_GTBI, to_below, to_bias, to_recurrent, *_ = returned(
            lstm.backward, ctx, above_GTBH, of_x=ctx.needs_input_grad[0]
        )
        if to_x_GTBI is not None:
            to_x_GTBI = moved_back("apart", to_x_GTBI, ctx.shape, ctx.moves[0], ABSENT[to_x_GTBI.dtype])
        return to_x_GTBI, None, None, to_below, to_bias, to_recurrent
