"""The hidden layer of a multilayer perceptron.

Shapes: R lanes, D directions, G = R * D, T time, B sentences, I numbers below, H hidden.
"""

import torch
from torch import Tensor, nn

from skipstack.models.parameters import BIAS, WEIGHT, parameter
from skipstack.models.time.cell import LayerSizes, project


class FeedForwardLayer(nn.Module):
    """h_i = g(W_h^T x_i + b_h)                                                             (chen2017 eq. 1)

    x_i is the layer below at the same time step, and nothing else is read: two directions are two such layers side by
    side. The paper leaves g open; ours is tanh, as in its feature maps.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.features = sizes.hidden
        groups = (sizes.lanes, sizes.directions)
        self.below = parameter(*groups, sizes.below, sizes.hidden, role=WEIGHT)
        self.bias = parameter(*groups, sizes.hidden, role=BIAS)

    def outputs(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> Tensor:
        """h_GTBH of all time steps at once."""
        assert skipped_GTBH is None, "a feed-forward layer has no source"
        return torch.tanh(project(below_GTBI, self.below, self.bias))
