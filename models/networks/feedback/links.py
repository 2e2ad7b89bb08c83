"""Links: the weights by which the hidden layer reads the values that the c preceding positions feed back.

Axes: G = lanes * directions (a lane is one seed's copy of the network), W = c positions of the context, Q features that
a position feeds back (K labels or H hidden units), X = H pre-activations, Z = W * X contributions of a position to the
pre-activations of the W positions after it (nearest first).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.ground.parameters import BIAS, TABLE, WEIGHT, parameter
from skipstack.models.kernels.products import product


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a link in the form that the loop over time reads. They depend on parameters only: one computation
    serves all steps.

    ``rows_GQZ``: a matrix. Vectors that are fed back are multiplied by it; label ids that are fed back select its rows.
    ``first_GZ``: the contribution of the learned values before the first position. ``context``: c.
    """

    rows_GQZ: Tensor
    first_GZ: Tensor
    context: int

    def added(self, fed_GNQ: Tensor) -> Tensor:
        """Compute added_GNWX, the contribution of each of N positions to the pre-activations of the W positions after
        it. ``fed_GNQ``: the vectors that the N positions feed back, or label ids fed_GN.
        """
        if fed_GNQ.is_floating_point():
            added_GNZ = product(fed_GNQ, self.rows_GQZ)
        else:
            groups, labels, _ = self.rows_GQZ.shape
            first_G1 = torch.arange(0, groups * labels, labels, device=fed_GNQ.device).unsqueeze(1)
            added_GNZ = functional.embedding(fed_GNQ + first_G1, self.rows_GQZ.flatten(0, 1))
        return added_GNZ.view(*added_GNZ.shape[:2], self.context, -1)

    def read(self, fed_GTBQ: Tensor) -> Tensor:
        """Compute pre_GTBX, the summed contributions of the W positions before each position, within the sentence."""
        groups, steps, sentences = fed_GTBQ.shape[:3]
        parts = self.added(fed_GTBQ.flatten(1, 2)).view(groups, steps, sentences, self.context, -1).unbind(3)
        later = [min(distance, steps) for distance in range(1, self.context + 1)]
        read = (functional.pad(part, (0, 0, 0, 0, by, -by)) for part, by in zip(parts, later, strict=True))
        if fed_GTBQ.is_cpu:  # on a CPU, torch's order of summation depends on the number of lanes
            return reduce(torch.add, read)
        return torch.stack([*read]).sum(dim=0)

    def before_first(self, steps: int) -> Tensor:
        """Compute pre_GTX, the contribution of the learned values before the first position to each position."""
        parts_GWX = self.first_GZ.view(len(self.first_GZ), self.context, -1)
        first_GWX = parts_GWX.flip(1).cumsum(1).flip(1)[:, :steps]  # position t reads values more than t steps back
        return functional.pad(first_GWX, (0, 0, 0, steps - first_GWX.shape[1]))


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkSizes:
    """The sizes of a link: lanes, directions of reading, positions of the context, and hidden units."""

    lanes: int
    directions: int
    context: int
    hidden: int


class Link(nn.Module, ABC):
    """Base class of links: [f_{t-c} ... f_{t-1}] R, where f_t is the value that position t feeds back.

    The paper's eqs 6-8 print t-c+1 ... t-1, which are c - 1 positions. We read c positions, as the paper's text says
    and as its eqs 9-12 count. The paper does not specify the values before the first position of a sentence. Ours are
    parameters that start at zero and count as biases.
    """

    def __init__(self, sizes: LinkSizes, fed: int) -> None:
        """Create R. ``fed``: the number of features that a position feeds back."""
        super().__init__()
        self.context = sizes.context
        self.weight = parameter(sizes.lanes, sizes.directions, sizes.context * fed, sizes.hidden, role=WEIGHT)

    @abstractmethod
    def weights(self) -> Weights:
        """Compute the weights that the loop over time reads."""

    def rows(self) -> Tensor:
        """Return rows_GQZ: R rearranged so that one product with a position's value serves all W positions that read
        the value.
        """
        weight_GNX = self.weight.flatten(0, 1)
        weight_GWQX = weight_GNX.view(len(weight_GNX), self.context, -1, weight_GNX.shape[-1])
        return weight_GWQX.flip(1).transpose(1, 2).flatten(2)


class HiddenLink(Link):
    """Feeds back hidden layers, f = h (E-RNN, and I+E-RNN, eq. 8). Positions before the first have a learned vector
    h_0.
    """

    def __init__(self, sizes: LinkSizes) -> None:
        super().__init__(sizes, fed=sizes.hidden)
        self.bias_begin = parameter(sizes.lanes, sizes.directions, sizes.hidden, role=BIAS)

    def weights(self) -> Weights:
        """Return R, and the contribution of h_0 at all positions before the first."""
        rows_GHZ = self.rows()
        first_GZ = product(self.bias_begin.flatten(0, 1).unsqueeze(1), rows_GHZ).squeeze(1)
        return Weights(rows_GHZ, first_GZ, self.context)


class LabelLink(Link):
    """Feeds back labels, or distributions over labels, f = y (J-RNN, eq. 6). Positions before the first have a label
    that is never predicted. This label's rows are a separate parameter, so that R has the size of eq. 9, with c rows
    for each label that may be predicted.
    """

    def __init__(self, sizes: LinkSizes, labels: int) -> None:
        super().__init__(sizes, fed=labels)
        self.bias_begin = parameter(sizes.lanes, sizes.directions, sizes.context, sizes.hidden, role=BIAS)

    def weights(self) -> Weights:
        """Return R, and the rows for the label of the positions before the first."""
        return Weights(self.rows(), self.bias_begin.flatten(0, 1).flip(1).flatten(1), self.context)


class LabelVectorLink(Link):
    """Feeds back vectors of labels, f = E_l(y) (I-RNN, eq. 7, and I+E-RNN, eq. 8). R is the part of the paper's matrix
    H that multiplies these vectors.

    A distribution over labels is fed back as the expected vector, sum_k y_k E_l(k). Positions before the first have a
    separate label with a vector of its own. Both directions share the label vectors, as they share word vectors.

    E_l R has a row for each label and position of the context, and is computed once for all sentences. With D the size
    of a label's vector, this takes c K D H multiplications in all, instead of c D H at each position of each sentence.
    """

    def __init__(self, sizes: LinkSizes, labels: int, size: int) -> None:
        """Create R and the vectors of ``labels`` labels. ``size``: the size of a vector."""
        super().__init__(sizes, fed=size)
        self.table = parameter(sizes.lanes, labels, size, role=TABLE)
        self.bias_begin = parameter(sizes.lanes, size, role=BIAS)

    def weights(self) -> Weights:
        """Return E_l R, and the contribution of the label before the first position."""
        directions, rows_GEZ = self.weight.shape[1], self.rows()
        table_GKE = self.table.unsqueeze(1).expand(-1, directions, -1, -1).flatten(0, 1)
        first_G1E = self.bias_begin.unsqueeze(1).expand(-1, directions, -1).flatten(0, 1).unsqueeze(1)
        return Weights(product(table_GKE, rows_GEZ), product(first_G1E, rows_GEZ).squeeze(1), self.context)
