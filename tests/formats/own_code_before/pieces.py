"""A gate, a head, a cell and an embedder, written for skipstack 0.2.0: everything is imported from where it was then."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from skipstack.data.basis.frozen import Frozen
from skipstack.models.cells.gates import LogisticGate
from skipstack.models.lanes import Streams

from skipstack.models.time.cell import Cell, HiddenState
from skipstack.models.time.layer import LayerSizes, project


class SteepGate(LogisticGate):
    """g = sigm(slope * (W below + b))"""

    class Config(Frozen):
        kind: Literal["steep"] = "steep"
        slope: Annotated[float, Field(gt=0)] = 4.0

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
        self.slope = config.slope

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        return torch.sigmoid(self.slope * project(below_GTBI, self.weight, self.bias))


class LeakyCell(Cell):
    """h_t = h_{t-1} / 2 + tanh(W below + U h_{t-1} + b) / 2"""

    class Config(Frozen):
        kind: Literal["leaky"] = "leaky"

    def __init__(self, config: Config, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes, gates=1)

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        return HiddenState((state.h_GBF + torch.tanh(pre_GBX)) / 2)

    def start(self, like_GBX: Tensor) -> HiddenState:
        return HiddenState(self.zeros(like_GBX))
