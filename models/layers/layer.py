"""The base class of layers, and the type of their results. A layer reads all time steps of the layer below.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units, X pre-activations, F outputs, J earlier states that a step may read.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from skipstack.data.basis.user_code.configs import Part


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerSizes:
    """The sizes of a layer. ``lanes``: one for each seed. ``below``: the features that a step reads from below."""

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
    """The earlier states that a layer chose for its steps to read. Steps are in their direction's reading order.

    ``back_GTB``: a_t - 1 if step t reads the state a_t steps back, so 0 for the previous state. ``log_probabilities``:
    a function that computes log_GTBJ, the logarithm of the distribution over the J states, with the policy's gradient.
    """

    back_GTB: Tensor
    log_probabilities: Callable[[], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """The results of a layer for a batch: its outputs, its final state, and tensors for inspection.

    ``output_GTBF``: the outputs of all steps. ``pre_GTBX``: the pre-activations W x + b from the layer below.
    ``choices``: the choices of a layer that selects which state to read. ``read``: a function that computes read_GTBJ,
    the weight of each of the J last outputs in each step's input; None means that a step reads only the previous
    output. ``last``: the final state, which ``Layer.run`` accepts as ``start``; None means that no state is carried on.

    ``states``: h_t of each step, as the next step reads it. The gradient of h_t includes the contributions of the
    step's own output and of all later steps. A layer that does not keep ``states`` or ``pre_GTBX`` returns None in
    their place, for example because all steps ran as one compiled operation.
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
    """The number of features that the layer outputs at each time step."""

    @abstractmethod
    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Computes all time steps.

        ``below_GTBI``: the outputs of the layer below. ``skipped_GTBH``: the output of the layer's source, an earlier
        layer or the stack's input; None if it has no source. ``start``: the ``last`` state of an earlier call; None
        means the initial state, usually zeros. No mask is needed: padding comes after all tokens.
        """
