"""What the hidden layer reads of the c positions before.

W positions of the context; Q numbers fed back at a position: K or H; X = H; Z = W * X: what a position adds to the
pre-activations of the W positions after it, the next one first.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.ground.parameters import BIAS, TABLE, WEIGHT, parameter
from skipstack.models.kernels.products import product


@dataclass(frozen=True, slots=True)
class Weights:
    """What each number that is fed back adds to the positions after it, and what stands before the first position adds.

    All that depends on parameters alone is in here, computed once for all time steps. Fed back are either vectors,
    whose product with ``rows_GQZ`` it is, or labels, which stand for vectors of a single 1: rows are looked up.
    """

    rows_GQZ: Tensor
    first_GZ: Tensor
    context: int

    def added(self, fed_GNQ: Tensor) -> Tensor:
        """What positions with these vectors, or labels fed_GN, add to those after them: added_GNWX."""
        if fed_GNQ.is_floating_point():
            added_GNZ = product(fed_GNQ, self.rows_GQZ)
        else:
            groups, labels, _ = self.rows_GQZ.shape
            first_G1 = torch.arange(0, groups * labels, labels, device=fed_GNQ.device).unsqueeze(1)
            added_GNZ = functional.embedding(fed_GNQ + first_G1, self.rows_GQZ.flatten(0, 1))
        return added_GNZ.view(*added_GNZ.shape[:2], self.context, -1)

    def read(self, fed_GTBQ: Tensor) -> Tensor:
        """What each position reads of those before it, the start left out: pre_GTBX."""
        groups, steps, sentences = fed_GTBQ.shape[:3]
        parts = self.added(fed_GTBQ.flatten(1, 2)).view(groups, steps, sentences, self.context, -1).unbind(3)
        later = [min(distance, steps) for distance in range(1, self.context + 1)]
        return torch.stack(
            [functional.pad(part, (0, 0, 0, 0, by, -by)) for part, by in zip(parts, later, strict=True)]
        ).sum(dim=0)

    def before_first(self, steps: int) -> Tensor:
        """What each position reads of those before the first, the same in every sentence: pre_GTX."""
        parts_GWX = self.first_GZ.view(len(self.first_GZ), self.context, -1)
        first_GWX = parts_GWX.flip(1).cumsum(1).flip(1)[:, :steps]  # position t reads those more than t before it
        return functional.pad(first_GWX, (0, 0, 0, steps - first_GWX.shape[1]))


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkSizes:
    """How large a link is: positions of the context, and hidden units."""

    lanes: int
    directions: int
    context: int
    hidden: int


class Link(nn.Module, ABC):
    """[f_{t-c} ... f_{t-1}] R, where f is what is fed back: the printed contexts of c positions, the earliest first.

    Eqs 6-8 print t-c+1 ... t-1, which are c - 1 positions; ours are c, which is what the paper says of c and counts in
    eqs 9-12. What stands before the first position of a sentence has parameters of its own, which start at zero and are
    counted like biases: the paper, which leaves these out of its equations, says nothing of it.
    """

    def __init__(self, sizes: LinkSizes, fed: int) -> None:
        """``fed``: numbers fed back at a position."""
        super().__init__()
        self.context = sizes.context
        self.weight = parameter(sizes.lanes, sizes.directions, sizes.context * fed, sizes.hidden, role=WEIGHT)

    @abstractmethod
    def weights(self) -> Weights:
        """What is needed of the parameters."""

    def rows(self) -> Tensor:
        """The weight by what is fed back, nearest position first: rows_GQZ."""
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
        first_GZ = torch.bmm(self.bias_begin.flatten(0, 1).unsqueeze(1), rows_GHZ).squeeze(1)
        return Weights(rows_GHZ, first_GZ, self.context)


class LabelLink(Link):
    """Labels, or distributions over them (J-RNN, eq. 6): f = y. Before the first stands one more label, which is
    never predicted.

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

    A distribution is fed as its expectation, sum_k y_k E_l(k). Before the first stands one more label with a vector of
    its own.
    Both directions read the same vectors, as they do of words.

    Whatever the sentences, E_l R has a row for each label and place of the context; so these are computed, and looked
    up. They are c|O|D|H| products in place of c D|H| for each position.
    """

    def __init__(self, sizes: LinkSizes, labels: int, size: int) -> None:
        """``size``: numbers a label."""
        super().__init__(sizes, fed=size)
        self.table = parameter(sizes.lanes, labels, size, role=TABLE)
        self.bias_begin = parameter(sizes.lanes, size, role=BIAS)

    def weights(self) -> Weights:
        """E_l R."""
        directions, rows_GEZ = self.weight.shape[1], self.rows()
        table_GKE = self.table.unsqueeze(1).expand(-1, directions, -1, -1).flatten(0, 1)
        first_G1E = self.bias_begin.unsqueeze(1).expand(-1, directions, -1).flatten(0, 1).unsqueeze(1)
        return Weights(torch.bmm(table_GKE, rows_GEZ), torch.bmm(first_G1E, rows_GEZ).squeeze(1), self.context)
