"""The gated recurrent unit, in torch's formulation.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X = 3H pre-activations.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipstack.models.ground.parameters import BIAS, parameter
from skipstack.models.kernels.layers import gru_layer
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.cell import Cell, HiddenState
from skipstack.models.layers.layer import LayerSizes, Unrolled


class GruCell(Cell):
    """The gated recurrent unit (Cho et al., 2014, arXiv 1406.1078):
    (r_t, z_t) = sigm(W x_t + U h_{t-1} + b)                                                               (eqs 5 and 6)
    n_t = tanh(W_n x_t + b_n + r_t * (U_n h_{t-1} + b_hn)),   h_t = (1 - z_t) * n_t + z_t * h_{t-1}     (eqs 7 and 8)

    x_t is the layer below, r the reset gate, z the update gate, n the candidate, * the element-wise product. As in the
    paper's first version, in ``torch.nn.GRU`` and in cuDNN, r multiplies the product U_n h_{t-1}. Later versions of the
    paper print U_n (r * h_{t-1}), which needs a second product in each step. The paper prints no biases. Ours are
    torch's, except that one bias replaces each pair of biases that torch only adds up.
    """

    gate_names = ("reset", "update")

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=3)
        self.bias_recalled = parameter(*sizes.groups, sizes.hidden, role=BIAS)  # b_hn

    def all_weights(self) -> tuple[Tensor, ...]:
        """Returns W, b, U and b_hn."""
        return *self.weights(), self.bias_recalled

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs all steps by compiled code if possible, otherwise step by step. The last state is h."""
        assert skipped_GTBH is None, "this layer has no source"
        output_GTBH = gru_layer(below_GTBI, self.all_weights(), start)
        if output_GTBH is None:
            return super().run(below_GTBI, start=start)
        return Unrolled(output_GTBH, last=output_GTBH[:, -1].detach())

    def project(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> tuple[Tensor, ...]:
        """Returns two tensors: W x + b of the gates r and z, followed by b_hn, to which each step adds U h_{t-1}; and
        W_n x + b_n, to which nothing is added.
        """
        assert skipped_GTBH is None, "this layer has no source"
        gates_GTBX, candidate_GTBH = torch.split(self.affine(below_GTBI), [2 * self.hidden, self.hidden], dim=-1)
        recalled_G11H = self.bias_recalled.flatten(0, 1).unsqueeze(1).unsqueeze(1)
        return torch.cat([gates_GTBX, recalled_G11H.expand_as(candidate_GTBH)], dim=-1), candidate_GTBH

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes one time step by eqs 5 to 8."""
        gates_GBX, recalled_GBH = torch.split(pre_GBX, [2 * self.hidden, self.hidden], dim=-1)
        r_GBH, z_GBH = sigmoid(gates_GBX).chunk(2, dim=-1)
        n_GBH = torch.tanh(known_GBX[0] + r_GBH * recalled_GBH)
        return HiddenState((1 - z_GBH) * n_GBH + z_GBH * state.h_GBF)
