"""Highway layers, through which the input can pass unchanged."""

import torch
from torch import Tensor, nn

from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.products import product
from skipstack.models.kernels.sigmoid import sigmoid

CARRY = -2.0
"""The term added to the gate's argument, so that a new layer passes most of its input."""


class HighwayLayer(nn.Module):
    """z = t * relu(W y + b) + (1 - t) * y,   t = sigm(V y + d)                    (Srivastava et al., 2015)

    y is the input of the layer, as wide as z; * is the element-wise product. This is the layer that Kim et al. (2016)
    put above a character CNN. They start d near -2; our biases all start at zero, so d - ``CARRY`` is learned.
    """

    def __init__(self, lanes: int, size: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, size, size, role=WEIGHT)
        self.bias = parameter(lanes, 1, size, role=BIAS)
        self.weight_gate = parameter(lanes, size, size, role=WEIGHT)
        self.bias_gate = parameter(lanes, 1, size, role=BIAS)

    def forward(self, y_RNF: Tensor) -> Tensor:
        """z_RNF."""
        made_RNF = torch.relu(product(y_RNF, self.weight, self.bias))
        gate_RNF = sigmoid(product(y_RNF, self.weight_gate, self.bias_gate + CARRY))
        return torch.lerp(y_RNF, made_RNF, gate_RNF)
