"""The LSTM of Collins's lecture, from Sutskever's thesis.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), B sentences, H hidden units, F = 2H
outputs of a step, X = 5H pre-activations.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.models.ground.parameters import RECURRENT, parameter
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.cell import Cell, HiddenState
from skipstack.models.layers.layer import LayerSizes


class SutskeverCell(Cell):
    """The LSTM of Collins's lecture (collins, "LSTM Equations"):
    u_t = [h_{t-1}; x_t; s~_{t-1}]
    h_t = g(W^h u_t + b^h),          "hidden state"
    i_t = g(W^i u_t + b^i),          "input"
    iota_t = sigm(W^iota u_t + b^iota), and likewise o_t and f_t: input, output and forget gate
    s_t = s_{t-1} * f_t + i_t * iota_t,    s~_t = s_t * o_t

    x_t is the layer below, s_t the memory, s~_t the memory after the output gate. Unlike in the usual LSTM, gates read
    s~_{t-1}, h_t is not computed from s_t, and the memory is output without a tanh. The slides do not specify g; ours
    is tanh. Initial states are zero. The layer outputs [h_t; s~_t], also to a layer above (the slides have one layer).
    """

    gate_names = ("iota", "output", "forget")

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=5)
        self.features = 2 * sizes.hidden
        # two blocks: one for h_{t-1}, and one for s~_{t-1}
        self.recurrent = parameter(*sizes.groups, 2, sizes.hidden, 5 * sizes.hidden, role=RECURRENT)

    def recurrent_weight(self) -> Tensor:
        """Returns the matrix that multiplies [h_{t-1}; s~_{t-1}]: weight_GFX."""
        return self.recurrent.flatten(2, 3).flatten(0, 1)

    def start(self, like_GBX: Tensor) -> HiddenState:
        """Returns the state before the first step: h_0 = s_0 = s~_0 = 0."""
        zeros_GBH = self.zeros(like_GBX)
        return HiddenState(torch.cat([zeros_GBH, zeros_GBH], dim=-1), zeros_GBH)

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes one time step. Pre-activations are in the order iota, o, f, h, i. The state is ([h; s~], s)."""
        assert state.c_GBH is not None
        gates_GBX, values_GBX = torch.split(pre_GBX, [3 * self.hidden, 2 * self.hidden], dim=-1)
        iota_GBH, o_GBH, f_GBH = sigmoid(gates_GBX).chunk(3, dim=-1)
        h_GBH, i_GBH = torch.tanh(values_GBX).chunk(2, dim=-1)
        s_GBH = state.c_GBH * f_GBH + i_GBH * iota_GBH
        return HiddenState(torch.cat([h_GBH, s_GBH * o_GBH], dim=-1), s_GBH)
