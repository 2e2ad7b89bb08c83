"""A layer through time: one loop for every cell, own ones of the LSTM and of layers that skip, and none where no step
reads another.

Shapes: G lanes in each direction, T time, B sentences, I numbers below, H hidden, F features,
X pre-activations.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.models.cells.feedforward import FeedForwardLayer
from skipstack.models.cells.lstm import LstmCell
from skipstack.models.skips.layers import SkipLayer
from skipstack.models.time.cell import Cell, HiddenState
from skipstack.models.time.layer import Unrolled
from skipstack.models.time.lstm_loop import LstmLoop
from skipstack.models.time.recurrence import Recurrence

Layer = Cell | FeedForwardLayer | SkipLayer
"""What a stack is made of."""


def unroll(layer: Layer, below_GTBI: Tensor, skipped_GTBH: Tensor | None, start: Tensor | None = None) -> Unrolled:
    """A layer over all time steps, from the state of zeros, or from the ``last`` one of an earlier call.

    Padding stands at the end of a sentence, so no earlier step ever sees it: no mask is needed.
    """
    if isinstance(layer, FeedForwardLayer):
        return Unrolled(layer.outputs(below_GTBI, skipped_GTBH))
    if isinstance(layer, SkipLayer):
        return layer.unrolled(below_GTBI, start)
    pre_GTBX, *known_GTBX = layer.project(below_GTBI, skipped_GTBH)
    if isinstance(layer, LstmCell):  # the layer that nearly every study has
        weight_GHX = layer.recurrent_weight()
        output_GTBF, last = LstmLoop.apply(pre_GTBX, weight_GHX, start)  # type: ignore[no-untyped-call]
        return Unrolled(output_GTBF, pre_GTBX, last=last)
    output_GTBF, last = step_by_step(layer, pre_GTBX, known_GTBX, start)
    return Unrolled(output_GTBF, pre_GTBX, last=last)


def step_by_step(
    cell: Cell, pre_GTBX: Tensor, known_GTBX: Sequence[Tensor], start_GBY: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The outputs of any cell from what it knows before the loop, and its last state [h; c]."""
    recurrence = Recurrence(cell.recurrent_weight(), pre_GTBX)
    known = [part.unbind(1) for part in known_GTBX]
    state = cell.start(pre_GTBX[:, 0])
    if start_GBY is not None:
        h_GBF, c_GBH = start_GBY.tensor_split([cell.features], dim=-1)
        state = HiddenState(h_GBF, None if state.c_GBH is None else c_GBH)
    outputs = []
    for step in range(pre_GTBX.shape[1]):
        pre_GBX = recurrence.pre(step, state.h_GBF)
        state = cell.step(pre_GBX, [part[step] for part in known], state)
        outputs.append(state.h_GBF)
    last = [state.h_GBF] if state.c_GBH is None else [state.h_GBF, state.c_GBH]
    return torch.stack(outputs, dim=1), torch.cat(last, dim=-1).detach()
