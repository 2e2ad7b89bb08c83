"""A policy that addresses states by their position in the text, not by distance. It is ours, not from a paper.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, J last states
that a step may read, M hidden units of the policy, E numbers in the code of a position, S positions, including those of
the J states before the first step.
"""

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from skipstack.models.kernels.layers import project
from skipstack.models.parts.skips.policy import Policy

RATES: Final = 16
"""The number of frequencies in the code of a position, each with a sine and a cosine."""

FASTEST, SLOWEST = 0.9 * math.pi, 0.009 * math.pi
"""The highest and the lowest frequency, in radians per position. The highest makes nearly half a turn per position, the
lowest less than a full turn in 200 positions.
"""


class PlacePolicy(Policy):
    """A policy that chooses which state to read by the state's position in the text:
    p_t = softmax_k(e(t - k) . P tanh(W [h_{t-1}; x_t] + b) + d_k), k = 1 ... J

    e(j) is the code of position j: its sines and cosines at ``RATES`` frequencies in geometric progression (after
    Vaswani et al., 2017). In gui2019, outputs are distances, so to choose a certain word a policy must know how far
    back this word is. Here outputs are positions, and the input can name the choice directly ("go to the third word").

    ``output``: P. ``bias_output``: d. Positions count from 0 in the reading order of the direction. States before the
    text, or carried over from the previous part of a longer text, have negative positions.
    """

    def outputs(self) -> int:
        """Returns E, the size of a position's code."""
        return 2 * RATES

    def scores(self, hidden_GTBM: Tensor, first: int) -> Tensor:
        """Computes logits_GTBJ: the dot product of the perceptron's output and the code of each of the J last
        positions, plus d. ``first``: the first step's position in the text.
        """
        asked_GTBE = project(hidden_GTBM, self.output)
        code_TEJ = self._codes(first, hidden_GTBM.shape[1])
        return torch.matmul(asked_GTBE, code_TEJ) + self.bias_output.flatten(0, 1)[:, None, None]

    def score_weights(self, steps: int) -> Sequence[Tensor]:
        """Returns P times the codes of the J last positions, for each of a text's first ``steps`` steps: weight_GMJ."""
        output_GME = self.output.flatten(0, 1)
        return [output_GME @ code_EJ for code_EJ in self._codes(0, steps)]

    def _codes(self, first: int, steps: int) -> Tensor:
        """Computes the codes of the J last positions, latest first, for ``steps`` steps from ``first`` on: code_TEJ."""
        code_SE = _waves(first - self.reach, first + steps - 1, self.output.device).to(self.output.dtype)
        return code_SE.unfold(0, self.reach, 1).flip(-1)


def _waves(first: int, end: int, device: torch.device) -> Tensor:
    """Computes the codes of positions ``first`` to ``end`` - 1: code_SE."""
    rate = torch.logspace(math.log10(FASTEST), math.log10(SLOWEST), RATES, dtype=torch.float64, device=device)
    turned = torch.arange(first, end, device=device).unsqueeze(1) * rate
    return torch.cat([turned.sin(), turned.cos()], dim=1)
