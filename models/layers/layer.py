"""What a stack is made of: a layer, which reads all time steps of the one below, and what it makes of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from skipstack.data.basis.own_code import Part


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSizes:
    """How large a layer is: numbers a time step from the layer below, and hidden units."""

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
    """The choices of a layer that chooses which earlier state it reads, in each direction's own order.

    ``back_GTB``: how many states further back than the previous one is read: a_t - 1. ``log_probabilities`` gives the
    logarithm of p_t, log_GTBJ, through which the policy learns; it is computed when it is asked for.
    """

    back_GTB: Tensor
    log_probabilities: Callable[[], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """All that a layer gives for a batch: its outputs, and more for whoever looks inside.

    ``pre``: the share of the pre-activations from below, W x + b; None where no step reads another, and of a compiled
    layer that nobody watches. ``choices``: those of a layer that makes any. ``read``: how much of each of the J last
    outputs a step read, read_GTBJ, computed when it is asked for; None where it read the previous one alone.

    ``last``: the state at the end, as the layer takes it to start from; None where there is nothing to carry on.
    """

    output_GTBF: Tensor
    pre_GTBX: Tensor | None = None
    choices: Choices | None = None
    read: Callable[[], Tensor] | None = None
    last: Tensor | None = None


class Layer(nn.Module, ABC):
    """A layer of a stack, in every lane and direction at once."""

    part: ClassVar[Part] = "cell"

    features: int
    """Numbers that it puts out at each time step: what the layer above, or the head, reads of it."""

    @abstractmethod
    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """All time steps, from the state of zeros, or from the ``last`` one of an earlier call.

        ``skipped`` is the output of the layer's source, None where it has none. Padding stands at the end of a
        sentence, so no earlier step ever sees it: no mask is needed.
        """
