"""The feedback that the hidden layer reads from the c positions before.

W positions of the context; Q features fed back at a position: K or H; X = H; Z = W * X: what a position adds to the
pre-activations of the W positions after it, the next one first.
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
    """The contribution of feedback to the positions after it, and of the learned start before the first position.

    Everything that depends on parameters only is computed here once for all time steps. Feedback is either vectors,
    which are multiplied by ``rows_GQZ``, or label ids, which look its rows up.
    """

    rows_GQZ: Tensor
    first_GZ: Tensor
    context: int

    def added(self, fed_GNQ: Tensor) -> Tensor:
        """The contribution of positions with these vectors, or labels fed_GN, to those after them: added_GNWX."""
        if fed_GNQ.is_floating_point():
            added_GNZ = product(fed_GNQ, self.rows_GQZ)
        else:
            groups, labels, _ = self.rows_GQZ.shape
            first_G1 = torch.arange(0, groups * labels, labels, device=fed_GNQ.device).unsqueeze(1)
            added_GNZ = functional.embedding(fed_GNQ + first_G1, self.rows_GQZ.flatten(0, 1))
        return added_GNZ.view(*added_GNZ.shape[:2], self.context, -1)

    def read(self, fed_GTBQ: Tensor) -> Tensor:
        """The sum that each position reads from those before it, without the start: pre_GTBX."""
        groups, steps, sentences = fed_GTBQ.shape[:3]
        parts = self.added(fed_GTBQ.flatten(1, 2)).view(groups, steps, sentences, self.context, -1).unbind(3)
        later = [min(distance, steps) for distance in range(1, self.context + 1)]
        read = (functional.pad(part, (0, 0, 0, 0, by, -by)) for part, by in zip(parts, later, strict=True))
        if fed_GTBQ.is_cpu:  # there the order of torch's own sums depends on how many lanes there are
            return reduce(torch.add, read)
        return torch.stack([*read]).sum(dim=0)

    def before_first(self, steps: int) -> Tensor:
        """The sum that each position reads from before the first position, the same in every sentence: pre_GTX."""
        parts_GWX = self.first_GZ.view(len(self.first_GZ), self.context, -1)
        first_GWX = parts_GWX.flip(1).cumsum(1).flip(1)[:, :steps]  # position t reads those more than t positions back
        return functional.pad(first_GWX, (0, 0, 0, steps - first_GWX.shape[1]))


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkSizes:
    """The size of a link: positions of the context, and hidden units."""

    lanes: int
    directions: int
    context: int
    hidden: int


class Link(nn.Module, ABC):
    """[f_{t-c} ... f_{t-1}] R, where f is the feedback: the printed contexts of c positions, the earliest first.

    Eqs 6-8 print t-c+1 ... t-1, which are c - 1 positions; ours are c, as the paper says of c and counts in eqs 9-12.
    The values before the first position of a sentence are parameters, which start at zero and count as biases: the
    paper leaves these out of its equations and does not specify them.
    """

    def __init__(self, sizes: LinkSizes, fed: int) -> None:
        """``fed``: features fed back at a position."""
        super().__init__()
        self.context = sizes.context
        self.weight = parameter(sizes.lanes, sizes.directions, sizes.context * fed, sizes.hidden, role=WEIGHT)

    @abstractmethod
    def weights(self) -> Weights:
        """The precomputed weights."""

    def rows(self) -> Tensor:
        """The weight of the feedback, nearest position first: rows_GQZ."""
        weight_GNX = self.weight.flatten(0, 1)
        weight_GWQX = weight_GNX.view(len(weight_GNX), self.context, -1, weight_GNX.shape[-1])
        return weight_GWQX.flip(1).transpose(1, 2).flatten(2)


class HiddenLink(Link):
    """Hidden layers (E-RNN, and eq. 8): f = h. The first position reads an h_0 of the network."""

    def __init__(self, sizes: LinkSizes) -> None:
        super().__init__(sizes, fed=sizes.hidden)
        self.bias_begin = parameter(sizes.lanes, sizes.directions, sizes.hidden, role=BIAS)

    def weights(self) -> Weights:
        """R itself."""
        rows_GHZ = self.rows()
        first_GZ = product(self.bias_begin.flatten(0, 1).unsqueeze(1), rows_GHZ).squeeze(1)
        return Weights(rows_GHZ, first_GZ, self.context)


class LabelLink(Link):
    """Labels, or distributions over them (J-RNN, eq. 6): f = y. A label of its own, never predicted, comes before the
    first position.

    Its rows of R are a parameter of their own, so that R is the c|O| x |H| of eq. 9.
    """

    def __init__(self, sizes: LinkSizes, labels: int) -> None:
        super().__init__(sizes, fed=labels)
        self.bias_begin = parameter(sizes.lanes, sizes.directions, sizes.context, sizes.hidden, role=BIAS)

    def weights(self) -> Weights:
        """R itself."""
        return Weights(self.rows(), self.bias_begin.flatten(0, 1).flip(1).flatten(1), self.context)


class LabelVectorLink(Link):
    """Labels as vectors (I-RNN, eq. 7; and eq. 8): f = E_l(y), and R is the part of H that they are
    multiplied by.

    A distribution is fed as its expectation, sum_k y_k E_l(k). A label of its own, with a vector, comes before the
    first position. Both directions share the label vectors, as they share those of words.

    E_l R does not depend on the sentences and has a row for each label and position of the context; so these rows are
    computed once, and looked up. They are c|O|D|H| products in place of c D|H| for each position.
    """

    def __init__(self, sizes: LinkSizes, labels: int, size: int) -> None:
        """``size``: the size of a label's vector."""
        super().__init__(sizes, fed=size)
        self.table = parameter(sizes.lanes, labels, size, role=TABLE)
        self.bias_begin = parameter(sizes.lanes, size, role=BIAS)

    def weights(self) -> Weights:
        """E_l R."""
        directions, rows_GEZ = self.weight.shape[1], self.rows()
        table_GKE = self.table.unsqueeze(1).expand(-1, directions, -1, -1).flatten(0, 1)
        first_G1E = self.bias_begin.unsqueeze(1).expand(-1, directions, -1).flatten(0, 1).unsqueeze(1)
        return Weights(product(table_GKE, rows_GEZ), product(first_G1E, rows_GEZ).squeeze(1), self.context)
