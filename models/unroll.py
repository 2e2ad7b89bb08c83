"""The only loop over time.

Shapes: G lanes in each direction, T time, B sentences, I numbers below, H hidden, F features,
X pre-activations.
"""

import torch
from torch import Tensor

from models.cells.base import Cell
from models.cells.feedforward import FeedForwardLayer
from models.recurrence import Recurrence

Layer = Cell | FeedForwardLayer
"""What a stack is made of."""


def unroll(layer: Layer, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Tensor:
    """The outputs h_GTBF of a layer over all time steps, from the state of zeros.

    Padding stands at the end of a sentence, so no earlier step ever sees it: no mask is needed. A layer that links no
    steps needs no loop.
    """
    if isinstance(layer, FeedForwardLayer):
        return layer.outputs(below_GTBI, skipped_GTBH)
    pre_GTBX, *known_GTBX = layer.project(below_GTBI, skipped_GTBH)
    recurrence = Recurrence(layer.recurrent_weight(), pre_GTBX)
    known = [part.unbind(1) for part in known_GTBX]
    state = layer.start(pre_GTBX[:, 0])
    outputs = []
    for step in range(pre_GTBX.shape[1]):
        pre_GBX = recurrence.pre(step, state.h_GBF)
        state = layer.step(pre_GBX, [part[step] for part in known], state)
        outputs.append(state.h_GBF)
    return torch.stack(outputs, dim=1)
