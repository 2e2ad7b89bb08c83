"""The shortcut block of wu2017, with its gates.

Shapes: R lanes, D directions, G = R * D, T time, B sentences, I numbers below, H hidden,
X = 3H, or 4H where the block computes its gate step by step.
"""

from typing import Literal, assert_never

import torch
from torch import Tensor, nn

from models.cells.base import Cell, HiddenState, project

Gate = Literal["none", "sigmoid_below", "sigmoid_below_previous"]


class ShortcutBlock(Cell):
    """(i, o, s) = (sigm, sigm, tanh) W [h_t^{l-1}; h_{t-1}^l] + b                       (wu2017 eq. 7)
    m = i * s + g * h_t^{-l},   h_t = o * tanh(m) + g * h_t^{-l}                        (eq. 8)

    h_t^{l-1} is the layer below, h_{t-1}^l this layer one step earlier, h_t^{-l} the output of an
    earlier layer at the same step (``skipped``; with h_t^{l-2} it is eq. 11). The gate g is one of
    ``none``                    g = 1, the identity link
    ``sigmoid_below``           g = sigm(V h_t^{l-1} + b)                                 (eq. 13)
    ``sigmoid_below_previous``  g = sigm(W_g [h_t^{l-1}; h_{t-1}^l] + b)                  (eq. 7)
    No internal state is carried over time. Eq. 13 prints no bias; ours starts at zero.
    """

    def __init__(self, *, lanes: int, directions: int, below: int, hidden: int, gate: Gate) -> None:
        gates = 4 if gate == "sigmoid_below_previous" else 3
        super().__init__(lanes=lanes, directions=directions, below=below, hidden=hidden, gates=gates)
        self.gate = gate
        if gate == "sigmoid_below":
            self.gate_below = nn.Parameter(torch.empty(lanes, directions, below, hidden))
            self.bias_gate = nn.Parameter(torch.empty(lanes, directions, hidden))

    def project(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> tuple[Tensor, ...]:
        """(pre_GTBX, carried_GTBH): the gates' share from below, and g * skipped as far as it is known."""
        assert skipped_GTBH is not None, "a shortcut block needs a source"
        match self.gate:
            case "none" | "sigmoid_below_previous":
                carried_GTBH = skipped_GTBH
            case "sigmoid_below":
                carried_GTBH = torch.sigmoid(project(below_GTBI, self.gate_below, self.bias_gate)) * skipped_GTBH
            case _:
                assert_never(self.gate)
        return self.affine(below_GTBI), carried_GTBH

    def start(self, like_GBX: Tensor) -> HiddenState:
        """h_0 = 0."""
        return HiddenState(self.zeros(like_GBX))

    def step(self, projected_GBX: tuple[Tensor, ...], state: HiddenState) -> HiddenState:
        """Eqs 7 and 8."""
        below_GBX, carried_GBH = projected_GBX
        pre_GBX = self.add_recurrent(below_GBX, state.h_GBH)
        gates_GBX, s_GBH = torch.split(pre_GBX, [pre_GBX.shape[-1] - self.hidden, self.hidden], dim=-1)
        i_GBH, o_GBH, *g_GBH = torch.split(torch.sigmoid(gates_GBX), self.hidden, dim=-1)
        for gate_GBH in g_GBH:
            carried_GBH = gate_GBH * carried_GBH
        m_GBH = i_GBH * torch.tanh(s_GBH) + carried_GBH
        return HiddenState(o_GBH * torch.tanh(m_GBH) + carried_GBH)
