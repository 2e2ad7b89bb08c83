"""The minimal recurrent cells of Feng et al. (2024): their gates read the layer below and no earlier state."""

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
    """h_t = k_t * h_{t-1} + (1 - k_t) * s_t,   s_t = W_s x_t + b_s          (Feng et al., 2024, arXiv 2410.01201)

    x_t is the layer below, * the element-wise product. Subclasses define k, a function of x_t alone: so all products
    are computed before the loop, and the loop is linear in h. Compiled code runs it as a loop; elsewhere it is a
    parallel scan. The candidate s is that of the paper's equations, without an activation; the scan over logarithms in
    its appendix has g(s) in its place, which is positive, as logarithms need. h_0 is zero.
    """

    multiplies_previous = False

    @abstractmethod
    def coefficients(self, pre_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """The coefficients k and (1 - k) * s, from pre-activations with any axes before the last."""

    def all_weights(self) -> tuple[Tensor, ...]:
        """W and b."""
        return self.below, self.bias

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs all time steps; the last state is h."""
        assert skipped_GTBH is None, "this layer has no source"
        output_GTBH = minimal_layer(below_GTBI, self.all_weights(), len(self.gate_names), start)
        if output_GTBH is None:
            if exporting() or is_watched():
                return super().run(below_GTBI, start=start)
            output_GTBH = linear_recurrence(*self.coefficients(self.affine(below_GTBI)), start)
        return Unrolled(output_GTBH, last=output_GTBH[:, -1].detach())

    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """The state after one step of the recurrence."""
        kept_GBH, added_GBH = self.coefficients(pre_GBX)
        return HiddenState(kept_GBH * state.h_GBF + added_GBH)


class MinGruCell(MinimalCell):
    """z_t = sigm(W_z x_t + b_z),   h_t = (1 - z_t) * h_{t-1} + z_t * s_t           (Feng et al., 2024, minGRU)

    z is the update gate: here, as in the paper, it multiplies the candidate; in a GRU it multiplies the previous state.
    """

    gate_names = ("update",)

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=2)

    def coefficients(self, pre_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """1 - z and z * s."""
        z_GBH, s_GBH = pre_GBX.chunk(2, dim=-1)
        z_GBH = sigmoid(z_GBH)
        return 1 - z_GBH, z_GBH * s_GBH


class MinLstmCell(MinimalCell):
    """(f_t, i_t) = sigm(W x_t + b),   h_t = f'_t * h_{t-1} + i'_t * s_t,           (Feng et al., 2024, minLSTM)
    f'_t = f_t / (f_t + i_t),   i'_t = i_t / (f_t + i_t)

    f is the forget gate, i the input gate; f' and i' are these, normalised to add up to 1.
    """

    gate_names = ("forget", "input")

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__(sizes, gates=3)

    @torch.no_grad()
    def open_forget_gates(self, bias: float) -> None:
        """Set the initial bias of the forget gates."""
        self.bias[..., : self.hidden] = bias

    def coefficients(self, pre_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """The gates f' and i' * s."""
        gates_GBX, s_GBH = torch.split(pre_GBX, [2 * self.hidden, self.hidden], dim=-1)
        f_GBH, i_GBH = self.shares(gates_GBX)
        return f_GBH, i_GBH * s_GBH

    def shares(self, gates_GBX: Tensor) -> tuple[Tensor, Tensor]:
        """The gates f' and i': sigmoids of log f - log i and of log i - log f, which divide nothing by zero."""
        f_GBH, i_GBH = logsigmoid(gates_GBX).chunk(2, dim=-1)
        return sigmoid(f_GBH - i_GBH), sigmoid(i_GBH - f_GBH)

    def openings(self, pre_GTBX: Tensor, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Mapping[str, Tensor]:
        """The gates f' and i', by which h_{t-1} and s are multiplied."""
        return dict(zip(self.gate_names, self.shares(pre_GTBX[..., : 2 * self.hidden]), strict=True))
