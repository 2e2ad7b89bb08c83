"""A policy that addresses states by their place, or position, in the text, not by distance. Ours; the papers have none.

E numbers in the code of a place; S places, those of J states before the first step included.
"""

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from skipstack.models.kernels.layers import project
from skipstack.models.parts.skips.policy import Policy

RATES: Final = 16
"""The number of waves in the code of a place."""

FASTEST, SLOWEST = 0.9 * math.pi, 0.009 * math.pi
"""Radians from one place to the next, for the fastest and the slowest wave: neighbours differ by nearly half a turn of
the one, and places of texts of up to two hundred words by less than a full turn of the other."""


class PlacePolicy(Policy):
    """p_t = softmax_k(e(t - k) . P tanh(W [h_{t-1}; x_t] + b) + d_k), k = 1 ... J

    e(j) are the sines and cosines of place j at ``RATES`` rates in a geometric sequence (after Vaswani et al., 2017).
    In the paper, outputs are distances, so a policy that wants a certain word of the text must know its distance to
    that word; here, outputs are places, and the input can name the choice directly ("go to the third word").

    ``output``: P, ``bias_output``: d. Places count from 0 in each direction's own order; states before the text, or
    carried over from a previous window, have negative places.
    """

    def outputs(self) -> int:
        """The size of a code, E."""
        return 2 * RATES

    def scores(self, hidden_GTBM: Tensor, first: int) -> Tensor:
        """logits_GTBJ: the agreement of the perceptron's code with those of the J last places."""
        asked_GTBE = project(hidden_GTBM, self.output)
        code_TEJ = self._codes(first, hidden_GTBM.shape[1])
        return torch.matmul(asked_GTBE, code_TEJ) + self.bias_output.flatten(0, 1)[:, None, None]

    def score_weights(self, steps: int) -> Sequence[Tensor]:
        """The weights P times the codes of the J last places, for each step: weight_GMJ."""
        output_GME = self.output.flatten(0, 1)
        return [output_GME @ code_EJ for code_EJ in self._codes(0, steps)]

    def _codes(self, first: int, steps: int) -> Tensor:
        """The codes of the J last places of steps ``first`` and on, the latest place first: code_TEJ."""
        code_SE = _waves(first - self.reach, first + steps - 1, self.output.device).to(self.output.dtype)
        return code_SE.unfold(0, self.reach, 1).flip(-1)


def _waves(first: int, end: int, device: torch.device) -> Tensor:
    """The codes of places ``first`` to ``end`` - 1: code_SE."""
    rate = torch.logspace(math.log10(FASTEST), math.log10(SLOWEST), RATES, dtype=torch.float64, device=device)
    turned = torch.arange(first, end, device=device).unsqueeze(1) * rate
    return torch.cat([turned.sin(), turned.cos()], dim=1)
