"""The LSTM layer of wu2017.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X = 4H pre-activations.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.models.kernels.layers import lstm_layer
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.cell import Cell, HiddenState
from skipstack.models.layers.layer import LayerSizes, Unrolled


class LstmCell(Cell):
    """The LSTM of wu2017, without a skip from an earlier layer:
    (i, f, o, s) = (sigm, sigm, sigm, tanh) W [h_t^{l-1}; h_{t-1}^l] + b            (wu2017 eq. 5)
    c_t = f * c_{t-1} + i * s,   h_t = o * tanh(c_t)                                   (eq. 6)

    h_t^{l-1} is the layer below, h_{t-1}^l this layer one step earlier, and * the element-wise product. Eq. 5 prints
    h_{t-1}^{l-1} in place of h_{t-1}^l, a misprint that eq. 7 does not have.
    """

    gate_names = ("input", "forget", "output")

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=4)

    @torch.no_grad()
    def open_forget_gates(self, bias: float) -> None:
        """Sets the bias of the forget gates to ``bias``."""
        self.bias[..., self.hidden : 2 * self.hidden] = bias

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs all steps by compiled or fused code if possible, otherwise step by step. The last state is [h; c]."""
        assert skipped_GTBH is None, "this layer has no source"
        found = lstm_layer(below_GTBI, self.weights(), start_GBY=start)
        return super().run(below_GTBI, start=start) if found is None else Unrolled(found[0], last=found[1])

    def start(self, like_GBX: Tensor) -> HiddenState:
        """Returns the state before the first step: h_0 = c_0 = 0."""
        return HiddenState(self.zeros(like_GBX), self.zeros(like_GBX))

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes one time step by eqs 5 and 6."""
        assert state.c_GBH is not None
        gates_GBX, s_GBH = torch.split(pre_GBX, [3 * self.hidden, self.hidden], dim=-1)
        i_GBH, f_GBH, o_GBH = sigmoid(gates_GBX).chunk(3, dim=-1)
        c_GBH = f_GBH * state.c_GBH + i_GBH * torch.tanh(s_GBH)
        return HiddenState(o_GBH * torch.tanh(c_GBH), c_GBH)
