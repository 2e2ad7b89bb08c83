"""The base class of layers, which read all time steps of the layer below, and the type of their results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from skipstack.data.basis.user_code.configs import Part


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSizes:
    """The size of a layer: features per time step from the layer below, and hidden units."""

    lanes: int
    directions: int
    below: int
    hidden: int

    @property
    def groups(self) -> tuple[int, int]:
        """The first two axes of each of its parameters."""
        return self.lanes, self.directions


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """The choices of a layer that selects which earlier state it reads, in each direction's own order.

    ``back_GTB``: how far back the chosen state lies beyond the previous one: a_t - 1. ``log_probabilities`` returns the
    logarithm of p_t, log_GTBJ, through which the policy learns; it is computed on call.
    """

    back_GTB: Tensor
    log_probabilities: Callable[[], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """The results of a layer for a batch: its outputs, and what inspection needs.

    ``pre``: the share of the pre-activations from below, W x + b; None where no step reads another, and where all steps
    are one operation. ``choices``: those of a layer that makes any. ``read``: the weight of each of the J last outputs
    in each step's input, read_GTBJ, computed on call; None where a step reads the previous output only.

    ``last``: the final state, in the form in which the layer starts from it; None where no state is carried on.
    ``states``: h_t of each step as the next one reads it, whose gradient is that of its own output and of all later
    steps; None where a layer's steps are one operation, within which no gradient is seen.
    """

    output_GTBF: Tensor
    pre_GTBX: Tensor | None = None
    choices: Choices | None = None
    read: Callable[[], Tensor] | None = None
    last: Tensor | None = None
    states: Sequence[Tensor] | None = None


class Layer(nn.Module, ABC):
    """A layer of a stack, in every lane and direction at once."""

    part: ClassVar[Part] = "cell"

    features: int
    """The number of features that it puts out at each time step: the input of the layer above, or of the head."""

    @abstractmethod
    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Computes all time steps, from a state of zeros, or from the ``last`` one of an earlier call.

        ``skipped`` is the output of the layer's source, None where it has none. Padding comes at the end of a sentence,
        so no earlier step reads it: no mask is needed.
        """
