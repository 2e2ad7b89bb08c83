"""The hidden layer of a multilayer perceptron."""

import torch
from torch import Tensor

from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.layers import project
from skipstack.models.layers.layer import Layer, LayerSizes, Unrolled


class FeedForwardLayer(Layer):
    """The hidden layer of a multilayer perceptron, applied to each time step on its own:
    h_i = g(W_h^T x_i + b_h)                                                             (chen2017 eq. 1)

    x_i is the output of the layer below at the same time step. Each direction has its own weights. The paper
    does not specify g; ours is tanh, as in the paper's feature maps.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.features = sizes.hidden
        self.below = parameter(*sizes.groups, sizes.below, sizes.hidden, role=WEIGHT)
        self.bias = parameter(*sizes.groups, sizes.hidden, role=BIAS)

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Computes all time steps at once. ``start`` is ignored, since the layer has no state."""
        assert skipped_GTBH is None, "a feed-forward layer has no source"
        return Unrolled(torch.tanh(project(below_GTBI, self.below, self.bias)))
