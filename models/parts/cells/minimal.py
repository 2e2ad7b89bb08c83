"""The minimal recurrent cells of Feng et al. (2024), whose gates read the layer below and no earlier state.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X pre-activations.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from skipstack.models.ground.scanning import exporting
from skipstack.models.kernels.choice import is_watched
from skipstack.models.kernels.layers import minimal_layer
from skipstack.models.kernels.linear_scan import linear_recurrence
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.cell import Cell, HiddenState
from skipstack.models.layers.layer import LayerSizes, Unrolled


class MinimalCell(Cell):
    """The base class of minimal recurrent cells (Feng et al., 2024, arXiv 2410.01201):
    h_t = k_t * h_{t-1} + (1 - k_t) * s_t,   s_t = W_s x_t + b_s

    x_t is the layer below, * the element-wise product. Subclasses define k, a function of x_t alone. So all matrix
    products are computed before the loop, and the loop is linear in h. The candidate s has no activation, as in the
    paper's equations. Only the scan over logarithms in the paper's appendix needs a positive g(s) in place of s. h_0 is
    zero, unless a state is carried over from the previous part of a longer text.
    """

    multiplies_previous = False

    @abstractmethod
    def coefficients(self, pre_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """Computes k and (1 - k) * s. The pre-activations may have any axes before the last."""

    def all_weights(self) -> tuple[Tensor, ...]:
        """Returns W and b."""
        return self.below, self.bias

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs all time steps by compiled code if possible. Otherwise runs a parallel scan, or single steps while a
        program is exported or layers are inspected. The last state is h.
        """
        assert skipped_GTBH is None, "this layer has no source"
        output_GTBH = minimal_layer(below_GTBI, self.all_weights(), len(self.gate_names), start)
        if output_GTBH is None:
            if exporting() or is_watched():
                return super().run(below_GTBI, start=start)
            output_GTBH = linear_recurrence(*self.coefficients(self.affine(below_GTBI)), start)
        return Unrolled(output_GTBH, last=output_GTBH[:, -1].detach())

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """Computes one time step, h_t = k_t * h_{t-1} + (1 - k_t) * s_t."""
        kept_GBH, added_GBH = self.coefficients(pre_GBX)
        return HiddenState(kept_GBH * state.h_GBF + added_GBH)


class MinGruCell(MinimalCell):
    """The minGRU (Feng et al., 2024):
    z_t = sigm(W_z x_t + b_z),   h_t = (1 - z_t) * h_{t-1} + z_t * s_t

    z is the update gate. As in the paper, z multiplies the candidate. In ``GruCell``, z multiplies the previous state.
    """

    gate_names = ("update",)

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=2)

    def coefficients(self, pre_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """Computes 1 - z, the factor of the previous state, and z * s, the term added to it."""
        z_GBH, s_GBH = pre_GBX.chunk(2, dim=-1)
        z_GBH = sigmoid(z_GBH)
        return 1 - z_GBH, z_GBH * s_GBH


class MinLstmCell(MinimalCell):
    """The minLSTM (Feng et al., 2024):
    (f_t, i_t) = sigm(W x_t + b),   h_t = f'_t * h_{t-1} + i'_t * s_t,
    f'_t = f_t / (f_t + i_t),   i'_t = i_t / (f_t + i_t)

    f is the forget gate and i the input gate; f' and i' are the gates normalised to a sum of 1.
    """

    gate_names = ("forget", "input")

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=3)

    @torch.no_grad()
    def open_forget_gates(self, bias: float) -> None:
        """Sets the bias of the forget gates to ``bias``."""
        self.bias[..., : self.hidden] = bias

    def coefficients(self, pre_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """Computes f', the factor of the previous state, and i' * s, the term added to it."""
        gates_GBX, s_GBH = torch.split(pre_GBX, [2 * self.hidden, self.hidden], dim=-1)
        f_GBH, i_GBH = self.shares(gates_GBX)
        return f_GBH, i_GBH * s_GBH

    def shares(self, gates_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """Computes f' and i' as the sigmoids of log f - log i and log i - log f, which avoids a division by zero."""
        f_GBH, i_GBH = logsigmoid(gates_GBX).chunk(2, dim=-1)
        return sigmoid(f_GBH - i_GBH), sigmoid(i_GBH - f_GBH)

    def openings(self, pre_GTBX: Tensor, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Mapping[str, Tensor]:
        """Returns the normalised gates f' and i', named ``forget`` and ``input``."""
        return dict(zip(self.gate_names, self.shares(pre_GTBX[..., : 2 * self.hidden]), strict=True))
