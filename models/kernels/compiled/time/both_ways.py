"""A compiled layer in both directions, as one function of torch, on sentences in written order. One call takes less
time than three (reorder, layer, reorder).

Axes: R lanes (a lane is one seed's copy of the network), G = 2R groups (each lane in two reading directions), T time
steps, B sentences, I inputs, H hidden units of a direction, F = 2H.
"""

from typing import Any

from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.kernels.compiled.arrays import ABSENT, arrays
from skipstack.models.kernels.compiled.time.loops import LAYERS, returned
from skipstack.models.kernels.compiled.time.moves import moved, moved_back


class CompiledBothWays(Once):
    """Applies in turn: ``ReadingOrder.apart``, a layer of ``LAYERS``, ``ReadingOrder.together`` with ``kept``."""

    @staticmethod
    def forward(
        ctx: Any, kind: str, x_RTBI: Tensor, lengths_RB: Tensor, kept_GTBH: Tensor | None, *weights: Tensor
    ) -> Tensor:
        """Computes the concatenated outputs of both directions: h_RTB(2H). ``kind``: the cell's name in ``LAYERS``."""
        ctx.layer = LAYERS[kind]
        _, *ctx.moves = arrays(x_RTBI, lengths_RB, kept_GTBH)
        ctx.shape = x_RTBI.shape
        x_GTBI = moved("apart", x_RTBI, ctx.moves[0], ABSENT[x_RTBI.dtype])
        h_GTBH = ctx.layer.forward(ctx, x_GTBI, weights, read_too=(lengths_RB, kept_GTBH))
        ctx.between = h_GTBH.shape
        return moved("together", h_GTBH, *ctx.moves)

    @staticmethod
    @once
    def backward(ctx: Any, above_RTBF: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients of x and the weights."""
        above_GTBH = moved_back("together", above_RTBF, ctx.between, *ctx.moves)
        _, backward, parts = ctx.layer
        to_x_GTBI, *others = returned(backward, ctx, above_GTBH, of_x=ctx.needs_input_grad[1], of_skip=(False,) * parts)
        if to_x_GTBI is not None:
            to_x_GTBI = moved_back("apart", to_x_GTBI, ctx.shape, ctx.moves[0], ABSENT[to_x_GTBI.dtype])
        return None, to_x_GTBI, None, None, *others[: len(others) - parts]
