"""The gates of shortcuts (wu2017 section 3.3, Table 3), which weight the output of an earlier layer.

h_t^l is the output of layer l at step t. h_t^{-l} is the skip of layer l: the output of an earlier layer at step t.
Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I outputs of
the layer below, H hidden units.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from skipstack.data.basis.user_code.configs import Part
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.layers import project
from skipstack.models.kernels.sigmoid import sigmoid
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import LayerSizes


class Gate(nn.Module, ABC):
    """Computes the gate g of a shortcut, and g * skip, for all time steps at once.

    A subclass defines ``carried``. Most subclasses derive from ``VectorGate`` and define ``values`` instead.

    ``in_step``: whether the gate reads h_{t-1}^l. The cell then computes the gate's pre-activation in the same matrix
    products as the cell's own, and multiplies by g within the step. ``earlier``: whether the gate reads the layer below
    one step earlier, h_{t-1}^{l-1}, instead of h_t^{l-1}.
    """

    part: ClassVar[Part] = "gate"
    in_step: ClassVar[bool] = False
    earlier: ClassVar[bool] = False

    def skip(self, skipped_GTBH: Tensor) -> Tensor:
        """Returns the value that replaces h_t^{-l} in all formulas of the layer; by default h_t^{-l} itself."""
        return skipped_GTBH

    @abstractmethod
    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """Returns (g * skip, g). If g is no vector, returns (g * skip, None). If ``in_step``, returns (skip, None)."""


class OpenGate(Gate):
    """The gate ``none``: g = 1, the identity link."""

    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """Returns the skip unchanged, and None in place of g."""
        return skip_GTBH, None


class RecurrentGate(OpenGate):
    """The gate ``sigmoid_below_previous``: g = sigm(W_g [h_t^{l-1}; h_{t-1}^l] + b)       (wu2017 eq. 7)

    W_g and b are columns of the cell's own weights. The cell computes g within each step.
    """

    in_step = True


class LinearGate(Gate):
    """The gate ``linear``: g * skip := W h_t^{-l}, a matrix in place of the element-wise product   (wu2017 eq. 12)

    Table 3 prints another formula for the linear mapping (``LinearVectorGate``).
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.weight = parameter(*sizes.groups, sizes.hidden, sizes.hidden, role=WEIGHT)

    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """Returns the product of the matrix W and the skip, and None in place of g."""
        return project(skip_GTBH, self.weight), None


class VectorGate(Gate):
    """A gate whose g is a vector for each time step. All g are computed before the loop over time."""

    @abstractmethod
    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Computes the gate's value g at every time step: g_GTBH."""

    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """Returns (g * skip, g)."""
        g_GTBH = self.values(below_GTBI, skip_GTBH)
        return g_GTBH * skip_GTBH, g_GTBH


class LinearVectorGate(VectorGate):
    """The gate ``linear_vector``: g = w, a learned vector, the same at all time steps           (wu2017 Table 3)

    Eq. 12 has a matrix in place of w (``LinearGate``). Our w is initialised like a weight matrix with one input.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.weight = parameter(*sizes.groups, 1, sizes.hidden, role=WEIGHT)

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Returns the learned vector w, repeated for every step and sentence."""
        return self.weight.flatten(0, 1).unsqueeze(1).expand_as(skip_GTBH)


class LogisticGate(VectorGate):
    """A gate with its own weights: g = sigm(W read + b). ``reads`` selects the vector ``read``:
    ``below``    h_t^{l-1}, the layer below: ``sigmoid_below``, the paper's default        (wu2017 eq. 13)
    ``skipped``  h_t^{-l} itself: ``sigmoid_skipped``                                           (Table 3)

    Eq. 13 and Table 3 print no bias; ours starts at zero.
    """

    def __init__(self, sizes: LayerSizes, reads: Literal["below", "skipped"] = "below") -> None:
        super().__init__()
        self.reads = reads
        size = sizes.hidden if reads == "skipped" else sizes.below
        self.weight = parameter(*sizes.groups, size, sizes.hidden, role=WEIGHT)
        self.bias = parameter(*sizes.groups, sizes.hidden, role=BIAS)

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Computes g = sigm(W read + b), in (0, 1)."""
        read_GTBX = below_GTBI if self.reads == "below" else skip_GTBH
        return sigmoid(project(read_GTBX, self.weight, self.bias))


class EarlierGate(LogisticGate):
    """The gate ``sigmoid_below_earlier``: g = sigm(W h_{t-1}^{l-1} + b)                       (wu2017 Table 3)

    At the first step in reading order, the gate reads 0. If the text continues a previous part, the gate reads the last
    h^{l-1} of that part instead.
    """

    earlier = True


class ScaledGate(LogisticGate):
    """The gate ``scaled``: replaces h_t^{-l} by tanh(h_t^{-l}), with the g of ``sigmoid_below`` (wu2017 Table 3).

    We replace the skip in all formulas of the layer, also where a topology adds the skip without the gate.
    """

    def skip(self, skipped_GTBH: Tensor) -> Tensor:
        """Returns tanh(skip)."""
        return torch.tanh(skipped_GTBH)


class BernoulliGate(VectorGate):
    """The gate ``bernoulli``: g ~ Bernoulli(p), independently for every unit of every time step   (wu2017 eq. 14)

    In training, g is drawn: 0 or 1. At test time g = p. Each lane draws from its own random stream.
    """

    def __init__(self, probability: float, streams: Streams) -> None:
        super().__init__()
        self.probability = probability
        self.streams = streams

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Draws g, 0 or 1, in training; otherwise returns the probability p."""
        p_GTBH = torch.full_like(skip_GTBH, self.probability)
        return sample(p_GTBH, self.streams) if self.training else p_GTBH


class LearnedBernoulliGate(LogisticGate):
    """The gate ``bernoulli_below``: g ~ Bernoulli(p) with p = sigm(H h_t^{l-1} + b)           (wu2017 eq. 15)

    The paper does not say how the gradient passes through the draw. Ours is a straight-through estimator (Bengio et
    al., 2013): the gradient with respect to g is passed to p unchanged.
    """

    def __init__(self, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
        self.streams = streams

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Draws g, 0 or 1, in training; otherwise returns the probability p."""
        p_GTBH = super().values(below_GTBI, skip_GTBH)
        return sample(p_GTBH, self.streams) if self.training else p_GTBH


def sample(p_GTBH: Tensor, streams: Streams) -> Tensor:
    """Draws g ~ Bernoulli(p) from each lane's random stream: g_GTBH. The gradient of g is passed to p unchanged."""
    p_R = p_GTBH.reshape(streams.lanes, -1, *p_GTBH.shape[1:])
    drawn_R = (streams.uniform(p_R) < p_R).to(p_R.dtype)
    return (drawn_R + (p_R - p_R.detach())).flatten(0, 1)  # the difference is 0, but passes on the gradient
