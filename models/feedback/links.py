"""What the hidden layer reads of the c positions before.

Shapes: R lanes, D directions, G = R * D, T time, B sentences, N = T * B, C positions of the context, K labels,
E numbers a label, X hidden, L numbers fed back at a position: K or X. Y = C * X: what a position adds to the
pre-activations of the C positions after it, the next one first.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.parameters import BIAS, TABLE, WEIGHT, parameter


@dataclass(frozen=True, slots=True)
class Weights:
    """What each number that is fed back adds to the positions after it, and what the begin adds.

    All that depends on parameters alone is in here, computed once for all time steps. Fed back are either vectors,
    whose product with ``rows_GLY`` it is, or labels, which stand for vectors of a single 1: rows are looked up.
    """

    rows_GLY: Tensor
    begin_GY: Tensor
    context: int

    def added(self, fed_GNL: Tensor) -> Tensor:
        """What positions with these vectors, or labels fed_GN, add to those after them: added_GNCX."""
        if fed_GNL.is_floating_point():
            added_GNY = torch.bmm(fed_GNL, self.rows_GLY)
        else:
            groups, labels, _ = self.rows_GLY.shape
            first_G1 = torch.arange(0, groups * labels, labels, device=fed_GNL.device).unsqueeze(1)
            added_GNY = functional.embedding(fed_GNL + first_G1, self.rows_GLY.flatten(0, 1))
        return added_GNY.view(*added_GNY.shape[:2], self.context, -1)

    def read(self, fed_GTBL: Tensor) -> Tensor:
        """What each position reads of those before it, the begin left out: pre_GTBX."""
        groups, steps, sentences = fed_GTBL.shape[:3]
        parts = self.added(fed_GTBL.flatten(1, 2)).view(groups, steps, sentences, self.context, -1).unbind(3)
        later = [min(distance, steps) for distance in range(1, self.context + 1)]
        return torch.stack(
            [functional.pad(part, (0, 0, 0, 0, by, -by)) for part, by in zip(parts, later, strict=True)]
        ).sum(dim=0)

    def begun(self, steps: int) -> Tensor:
        """What each position reads of those before the first, the same in every sentence: pre_GTX."""
        parts_GCX = self.begin_GY.view(len(self.begin_GY), self.context, -1)
        first_GCX = parts_GCX.flip(1).cumsum(1).flip(1)[:, :steps]  # position t reads those more than t before it
        return functional.pad(first_GCX, (0, 0, 0, steps - first_GCX.shape[1]))


class Link(nn.Module, ABC):
    """[f_{t-c} ... f_{t-1}] R, where f is what is fed back: the printed contexts of c positions, the earliest first.

    Eqs 6-8 print t-c+1 ... t-1, which are c - 1 positions; ours are c, which is what the paper says of c and counts in
    eqs 9-12. What stands before the first position of a sentence is the begin. It has parameters of its own, which
    start at zero and are counted like biases: the paper, which leaves these out of its equations, says nothing of it.
    """

    def __init__(self, *, lanes: int, directions: int, context: int, fed: int, hidden: int) -> None:
        super().__init__()
        self.context = context
        self.weight = parameter(lanes, directions, context * fed, hidden, role=WEIGHT)

    @abstractmethod
    def weights(self) -> Weights:
        """What is needed of the parameters."""

    def rows(self) -> Tensor:
        """The weight by what is fed back, nearest position first: rows_GLY."""
        weight_GYX = self.weight.flatten(0, 1)
        weight_GCLX = weight_GYX.view(len(weight_GYX), self.context, -1, weight_GYX.shape[-1])
        return weight_GCLX.flip(1).transpose(1, 2).flatten(2)


class HiddenLink(Link):
    """Hidden layers (E-RNN, and eq. 8): f = h. The begin is an h_0 of the network."""

    def __init__(self, *, lanes: int, directions: int, context: int, hidden: int) -> None:
        super().__init__(lanes=lanes, directions=directions, context=context, fed=hidden, hidden=hidden)
        self.bias_begin = parameter(lanes, directions, hidden, role=BIAS)

    def weights(self) -> Weights:
        """R itself."""
        rows_GXY = self.rows()
        begin_GY = torch.bmm(self.bias_begin.flatten(0, 1).unsqueeze(1), rows_GXY).squeeze(1)
        return Weights(rows_GXY, begin_GY, self.context)


class LabelLink(Link):
    """Labels, or distributions over them (J-RNN, eq. 6): f = y. The begin is one more label, which is never predicted.

    Its rows of R are a parameter of their own, so that R is the c|O| x |H| of eq. 9.
    """

    def __init__(self, *, lanes: int, directions: int, context: int, labels: int, hidden: int) -> None:
        super().__init__(lanes=lanes, directions=directions, context=context, fed=labels, hidden=hidden)
        self.bias_begin = parameter(lanes, directions, context, hidden, role=BIAS)

    def weights(self) -> Weights:
        """R itself."""
        return Weights(self.rows(), self.bias_begin.flatten(0, 1).flip(1).flatten(1), self.context)


class LabelVectorLink(Link):
    """Labels as vectors (I-RNN, eq. 7; and eq. 8): f = E_l(y), and R is the part of H that meets them.

    A distribution is fed as its expectation, sum_k y_k E_l(k). The begin is one more label with a vector of its own.
    Both directions read the same vectors, as they do of words.

    Whatever the sentences, E_l R has a row for each label and place of the context; so these are computed, and looked
    up. They are c|O|D|H| products in place of c D|H| for each position.
    """

    def __init__(self, *, lanes: int, directions: int, context: int, labels: int, size: int, hidden: int) -> None:
        super().__init__(lanes=lanes, directions=directions, context=context, fed=size, hidden=hidden)
        self.table = parameter(lanes, labels, size, role=TABLE)
        self.bias_begin = parameter(lanes, size, role=BIAS)

    def weights(self) -> Weights:
        """E_l R."""
        directions, rows_GEY = self.weight.shape[1], self.rows()
        table_GKE = self.table.unsqueeze(1).expand(-1, directions, -1, -1).flatten(0, 1)
        begin_G1E = self.bias_begin.unsqueeze(1).expand(-1, directions, -1).flatten(0, 1).unsqueeze(1)
        return Weights(torch.bmm(table_GKE, rows_GEY), torch.bmm(begin_G1E, rows_GEY).squeeze(1), self.context)
