"""The gates of shortcuts (wu2017 section 3.3, Table 3), which weigh the output of an earlier layer."""

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
    """Decides how much of a skip passes to a layer: g, and g * skip, for all time steps at once.

    A subclass defines ``carried``, or, as a ``VectorGate``, which most are, ``values``.

    A gate that reads h_{t-1}^l can be computed only within the step. It is ``in_step``: its cell computes its
    pre-activation together with its own, in the same matrix products, and multiplies by g there; before the loop, only
    the ungated skip is known. A gate's ``below`` is h_t^{l-1}, or h_{t-1}^{l-1} if it is ``earlier``.
    """

    part: ClassVar[Part] = "gate"
    in_step: ClassVar[bool] = False
    earlier: ClassVar[bool] = False

    def skip(self, skipped_GTBH: Tensor) -> Tensor:
        """The value used in place of h_t^{-l} wherever the layer uses it, gated or not."""
        return skipped_GTBH

    @abstractmethod
    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """The product g * skip as far as it is known before the loop, and g where it is a vector known there."""


class OpenGate(Gate):
    """``none``: g = 1, the identity link."""

    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """The skip."""
        return skip_GTBH, None


class RecurrentGate(OpenGate):
    """``sigmoid_below_previous``: g = sigm(W_g [h_t^{l-1}; h_{t-1}^l] + b)                (wu2017 eq. 7)

    W_g and b are columns of the cell's own weights.
    """

    in_step = True


class LinearGate(Gate):
    """``linear``: g * skip := W h_t^{-l}, a matrix in place of the element-wise product   (wu2017 eq. 12)

    Table 3 prints another one for its linear mapping, ``LinearVectorGate``.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.weight = parameter(*sizes.groups, sizes.hidden, sizes.hidden, role=WEIGHT)

    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """W skip."""
        return project(skip_GTBH, self.weight), None


class VectorGate(Gate):
    """A gate whose g is a vector for each time step, known before the loop."""

    @abstractmethod
    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """The factor by which the skip is multiplied, for every time step: g_GTBH."""

    def carried(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> tuple[Tensor, Tensor | None]:
        """The product g * skip, and g."""
        g_GTBH = self.values(below_GTBI, skip_GTBH)
        return g_GTBH * skip_GTBH, g_GTBH


class LinearVectorGate(VectorGate):
    """``linear_vector``: g = w, a vector that is learned, the same at all time steps           (wu2017 Table 3)

    Eq. 12 has a matrix W in its place (``LinearGate``). How w starts is not printed; ours starts as a weight with one
    input.
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.weight = parameter(*sizes.groups, 1, sizes.hidden, role=WEIGHT)

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """The vector, at every step."""
        return self.weight.flatten(0, 1).unsqueeze(1).expand_as(skip_GTBH)


class LogisticGate(VectorGate):
    """A gate with weights of its own: g = sigm(W read + b), where ``read`` is one of
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
        """The sigmoid, in (0, 1)."""
        read_GTBX = below_GTBI if self.reads == "below" else skip_GTBH
        return sigmoid(project(read_GTBX, self.weight, self.bias))


class EarlierGate(LogisticGate):
    """``sigmoid_below_earlier``: g = sigm(W h_{t-1}^{l-1} + b)                             (wu2017 Table 3)

    The layer below one step earlier in the direction of reading; before the first step, 0.
    """

    earlier = True


class ScaledGate(LogisticGate):
    """``scaled``: h_t^{-l} is replaced by tanh(h_t^{-l}), g is the default (wu2017 Table 3).

    We replace it wherever the layer uses it, also where a topology adds it without the gate.
    """

    def skip(self, skipped_GTBH: Tensor) -> Tensor:
        """The hyperbolic tangent."""
        return torch.tanh(skipped_GTBH)


class BernoulliGate(VectorGate):
    """``bernoulli``: g ~ Bernoulli(p), every unit of every time step on its own            (wu2017 eq. 14)

    In training g is drawn, 0 or 1; at test time g = p. Draws come from the lanes' streams.
    """

    def __init__(self, probability: float, streams: Streams) -> None:
        super().__init__()
        self.probability = probability
        self.streams = streams

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Draws of p in training, otherwise p."""
        p_GTBH = torch.full_like(skip_GTBH, self.probability)
        return sample(p_GTBH, self.streams) if self.training else p_GTBH


class LearnedBernoulliGate(LogisticGate):
    """``bernoulli_below``: g ~ Bernoulli(p) with p = sigm(H h_t^{l-1} + b)                 (wu2017 eq. 15)

    The paper does not say how p learns through the draw. Ours learns straight through: the gradient
    of g is taken to be that of p (Bengio et al., 2013), so that of g * skip is that of p * skip.
    """

    def __init__(self, sizes: LayerSizes, streams: Streams) -> None:
        super().__init__(sizes)
        self.streams = streams

    def values(self, below_GTBI: Tensor, skip_GTBH: Tensor) -> Tensor:
        """Draws of p in training, otherwise p."""
        p_GTBH = super().values(below_GTBI, skip_GTBH)
        return sample(p_GTBH, self.streams) if self.training else p_GTBH


def sample(p_GTBH: Tensor, streams: Streams) -> Tensor:
    """1 with probability p, else 0, lane by lane; its gradient is that of p."""
    p_R = p_GTBH.reshape(streams.lanes, -1, *p_GTBH.shape[1:])
    drawn_R = (streams.uniform(p_R) < p_R).to(p_R.dtype)
    return (drawn_R + (p_R - p_R.detach())).flatten(0, 1)  # the difference is 0: only its gradient counts
