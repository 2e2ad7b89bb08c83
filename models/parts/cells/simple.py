"""The simple recurrent network (Elman's) of Collins's lecture.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), B sentences, F = H outputs of a step,
X = H pre-activations.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.models.ground.parameters import BIAS, parameter
from skipstack.models.layers.cell import Cell, HiddenState
from skipstack.models.layers.layer import LayerSizes


class SimpleCell(Cell):
    """A simple recurrent network (collins, "A Simple Recurrent Network"):
    h_t = R(x_t, h_{t-1}) = g(W^hx x_t + W^hh h_{t-1} + b^h)

    x_t is the layer below. The slides do not specify the activation g; ours is tanh, as in ``LstmCell``. As on the
    slides, h_0 is a parameter of the network; ours is initially zero.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=1)
        self.bias_start = parameter(*sizes.groups, sizes.hidden, role=BIAS)

    def start(self, like_GBX: Tensor) -> HiddenState:
        """Returns the learned h_0, repeated for each sentence."""
        return HiddenState(self.bias_start.flatten(0, 1).unsqueeze(1).expand(-1, like_GBX.shape[1], -1))

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes h_t = R(x_t, h_{t-1})."""
        return HiddenState(torch.tanh(pre_GBX))
