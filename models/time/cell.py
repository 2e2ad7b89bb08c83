"""What a recurrent cell is.

Shapes: R lanes, D directions, G = R * D (every lane in every direction), T time, B sentences,
I numbers below, H hidden, F features (what a layer puts out; H in most cells), X pre-activations.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from skipstack.models.parameters import BIAS, RECURRENT, WEIGHT, parameter


@dataclass(frozen=True, slots=True)
class HiddenState:
    """What a cell carries from one time step to the next: its output, and its internal state if it has one."""

    h_GBF: Tensor
    c_GBH: Tensor | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSizes:
    """How large a layer is: numbers a time step from the layer below, and hidden units."""

    lanes: int
    directions: int
    below: int
    hidden: int


class Cell(nn.Module, ABC):
    """A layer's transition, in two parts: what needs no earlier time step, and what does.

    ``project`` is called once for all time steps, so that all inputs pass one matrix product;
    ``step`` is called by ``models/time/unroll.py``, the only loop over time.
    """

    gate_names: ClassVar[tuple[str, ...]] = ()
    """Its sigmoid gates, whose pre-activations come first, each ``hidden`` wide."""

    def __init__(self, sizes: LayerSizes, gates: int) -> None:
        """Weights of ``gates`` pre-activations of width ``hidden`` from ``below`` and from h_{t-1}."""
        super().__init__()
        self.hidden = sizes.hidden
        groups, width = (sizes.lanes, sizes.directions), gates * sizes.hidden
        self.below = parameter(*groups, sizes.below, width, role=WEIGHT)
        self.recurrent = parameter(*groups, sizes.hidden, width, role=RECURRENT)
        self.bias = parameter(*groups, width, role=BIAS)

    @property
    def features(self) -> int:
        """Numbers that the layer puts out at each time step: what the layer above, or the head, reads of it."""
        return self.hidden

    @abstractmethod
    def project(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None) -> tuple[Tensor, ...]:
        """Everything that is known before the loop, each with axes G, T, B first; the first are the pre-activations."""

    @abstractmethod
    def start(self, like_GBX: Tensor) -> HiddenState:
        """The state before the first step."""

    @abstractmethod
    def step(self, pre_GBX: Tensor, known_GBX: Sequence[Tensor], state: HiddenState) -> HiddenState:
        """One time step from the pre-activations, U h_{t-1} included, and what else ``project`` knew of it.

        ``state`` is the one before; the new one's ``h_GBF`` is the layer's output.
        """

    def affine(self, below_GTBI: Tensor) -> Tensor:
        """W below + b for all time steps: pre_GTBX."""
        return project(below_GTBI, self.below, self.bias)

    def recurrent_weight(self) -> Tensor:
        """U, which meets h_{t-1}: weight_GFX."""
        return self.recurrent.flatten(0, 1)

    def zeros(self, like_GBX: Tensor) -> Tensor:
        """A state of zeros for the groups and sentences of ``like_GBX``."""
        groups, sentences, _ = like_GBX.shape
        return like_GBX.new_zeros(groups, sentences, self.hidden)


def project(x_GTBI: Tensor, weight_RDIX: Tensor, bias_RDX: Tensor | None = None) -> Tensor:
    """X W + b for every time step and sentence in one batched matrix product: pre_GTBX."""
    groups, steps, sentences, size = x_GTBI.shape
    rows, weight = x_GTBI.reshape(groups, steps * sentences, size), weight_RDIX.flatten(0, 1)
    if bias_RDX is None:
        pre = torch.bmm(rows, weight)
    else:
        pre = torch.baddbmm(bias_RDX.flatten(0, 1).unsqueeze(1), rows, weight)
    return pre.view(groups, steps, sentences, -1)
