"""The only loop over time.

Shapes: G lanes in each direction, T time, B sentences, I numbers below, H hidden, F features.
"""

import torch
from torch import Tensor

from models.cells.base import Cell


def unroll(cell: Cell, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Tensor:
    """The outputs h_GTBF of a layer over all time steps, from the state of zeros.

    Padding stands at the end of a sentence, so no earlier step ever sees it: no mask is needed.
    """
    projected = [part.unbind(1) for part in cell.project(below_GTBI, skipped_GTBH)]
    state = cell.start(projected[0][0])
    outputs = []
    for parts in zip(*projected, strict=True):
        state = cell.step(parts, state)
        outputs.append(state.h_GBF)
    return torch.stack(outputs, dim=1)
