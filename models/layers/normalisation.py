"""Normalisation of the input of a layer, each token by itself.

Axes: R lanes (a lane is one seed's copy of the network), D reading directions, G = R * D, T time steps, B sentences,
F features of a token.
"""

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.ground.parameters import BIAS, GAIN, parameter
from skipstack.models.layers.lanes import lane_by_lane
from skipstack.models.layers.layer import LayerSizes

EPSILON: Final = 1e-5
"""Added to the variance, or to the mean square, so that nothing is divided by zero."""


class LayerNormalisation(nn.Module):
    """Layer normalisation (Ba et al., 2016, arXiv 1607.06450), with g for the gain and b for the bias:
    y = g * (x - mean(x)) / sqrt(var(x) + epsilon) + b

    x are the F features of a token. mean and var are their mean and variance, so no token depends on another. g and b
    have F entries in each direction. Initially g is 1 and b is 0.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.gain = parameter(*sizes.groups, sizes.below, role=GAIN)
        self.bias = parameter(*sizes.groups, sizes.below, role=BIAS)

    def forward(self, x_GTBF: Tensor) -> Tensor:
        """Normalises each token: y_GTBF."""
        return lane_by_lane(_layer, _in_lanes(x_GTBF, self.gain), self.gain, self.bias).flatten(0, 1)


class RmsNormalisation(nn.Module):
    """Root mean square normalisation (Zhang and Sennrich, 2019, arXiv 1910.07467):
    y = g * x / sqrt(mean(x^2) + epsilon)

    x, g and epsilon are as in ``LayerNormalisation``. Nothing is subtracted or added.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.gain = parameter(*sizes.groups, sizes.below, role=GAIN)

    def forward(self, x_GTBF: Tensor) -> Tensor:
        """Normalises each token: y_GTBF."""
        return lane_by_lane(_rms, _in_lanes(x_GTBF, self.gain), self.gain).flatten(0, 1)


def _in_lanes(x_GTBF: Tensor, gain_RDF: Tensor) -> Tensor:
    """Divides the groups into lanes and directions: x_RDTBF."""
    return x_GTBF.view(*gain_RDF.shape[:2], *x_GTBF.shape[1:])


def _layer(x_RDTBF: Tensor, gain_RDF: Tensor, bias_RDF: Tensor) -> Tensor:
    gain_RD11F, bias_RD11F = (each[:, :, None, None] for each in (gain_RDF, bias_RDF))
    return torch.addcmul(bias_RD11F, functional.layer_norm(x_RDTBF, x_RDTBF.shape[-1:], eps=EPSILON), gain_RD11F)


def _rms(x_RDTBF: Tensor, gain_RDF: Tensor) -> Tensor:
    root_RDTB1 = (x_RDTBF.square().mean(dim=-1, keepdim=True) + EPSILON).rsqrt()
    return x_RDTBF * root_RDTB1 * gain_RDF[:, :, None, None]
