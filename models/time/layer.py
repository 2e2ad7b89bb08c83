"""What a layer makes of all time steps. Shapes: G lanes in each direction, T time, B sentences, F features,
X pre-activations, K states that may be read.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from skipstack.models.skips.policy import Choices


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """The outputs, and for whoever looks inside: the share of the pre-activations from below, W x + b (None where no
    step reads another), the choices of a layer that makes any, and how much of each of the K last outputs a step read,
    read_GTBK, computed when it is asked for (None where it read the previous one alone).

    ``last``: the state at the end, as the layer takes it to start from; None where there is nothing to carry on.
    """

    output_GTBF: Tensor
    pre_GTBX: Tensor | None = None
    choices: Choices | None = None
    read: Callable[[], Tensor] | None = None
    last: Tensor | None = None
