"""The base class of layers, which read all time steps of the layer below, and the type of their results.

Axes: G groups (a group is one lane, that is one seed's copy of the network, in one reading direction), T time steps,
B sentences, I inputs from the layer below, H hidden units, X pre-activations, F outputs, J earlier states that a step
may read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from skipstack.data.basis.user_code.configs import Part


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSizes:
    """The sizes of a layer: lanes (one for each seed), reading directions, features that the layer ``below`` outputs at
    each time step, and ``hidden`` units.
    """

    lanes: int
    directions: int
    below: int
    hidden: int

    @property
    def groups(self) -> tuple[int, int]:
        """The first two axes of each of the layer's parameters: lanes and directions."""
        return self.lanes, self.directions


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """The choices of a layer that selects which earlier state each step reads. Steps are in each direction's own
    reading order.

    ``back_GTB``: a_t - 1, if step t reads the state a_t steps back; 0 for the previous state. ``log_probabilities``: a
    function that computes the logarithm of p_t, the distribution over the J states, as log_GTBJ. The gradient of the
    policy goes through that function.
    """

    back_GTB: Tensor
    log_probabilities: Callable[[], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """The results of a layer for a batch: its outputs, its final state, and tensors for inspection.

    ``output_GTBF``: the outputs of all steps. ``pre_GTBX``: the part of the pre-activations that comes from below,
    W x + b. None means that no step reads another, or that all steps ran as one operation. ``choices``: the choices of
    a layer that chooses which state to read; None for other layers. ``read``: a function that computes read_GTBJ, the
    weight of each of the J last outputs in each step's input. None means that a step reads the previous output only.

    ``last``: the final state, in the form in which ``Layer.run`` accepts it as ``start``. None means that no state is
    carried on. ``states``: h_t of each step, as the next step reads it. The gradient of h_t is that of its own output
    and of all later steps. None means that no step reads another, or that all steps ran as one operation, inside which
    no gradient can be seen.
    """

    output_GTBF: Tensor
    pre_GTBX: Tensor | None = None
    choices: Choices | None = None
    read: Callable[[], Tensor] | None = None
    last: Tensor | None = None
    states: Sequence[Tensor] | None = None


class Layer(nn.Module, ABC):
    """A layer of a stack. It computes all lanes (one for each seed) and reading directions at once."""

    part: ClassVar[Part] = "cell"

    features: int
    """The number of features that the layer outputs at each time step; the layer above, or the head, reads them."""

    @abstractmethod
    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Computes all time steps.

        ``below_GTBI``: the outputs of the layer below. ``skipped_GTBH``: the output of the layer's source, which is an
        earlier layer or the stack's input; None if the layer has no source. ``start``: the ``last`` state of an earlier
        call; None means the layer's initial state, usually zeros. Sentences are padded at the end, so no token's step
        reads padding, and no mask is needed.
        """
