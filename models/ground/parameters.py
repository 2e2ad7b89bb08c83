"""The roles of parameters. A role determines how a parameter is initialised, and whether it is penalised by L2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

Made = TypeVar("Made", bound=nn.Module)

Start = Literal["fan_in", "orthogonal", "width", "zero", "one"]
"""The kind of initial values (``models/ground/initialise.py``). ``fan_in``: normal, scaled by the fan in.
``orthogonal``: orthogonal blocks, one per gate. ``width``: normal, scaled by the width of a vector. ``zero``: 0.
``one``: 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """The role of a parameter.

    ``name``: the role's name. ``start``: the kind of initial values. ``decays``: whether the L2 penalty includes the
    parameter (``models/training/gradients.py``).
    """

    name: str
    start: Start
    decays: bool


WEIGHT = Role(name="weight", start="fan_in", decays=True)
"""A weight matrix; its last two axes are (fan in, fan out)."""

RECURRENT = Role(name="recurrent", start="orthogonal", decays=True)
"""The weight matrix from the previous step's state to the pre-activations of all gates."""

TABLE = Role(name="table", start="width", decays=True)
"""A table of vectors that are looked up; each row is a vector."""

FORM = Role(name="form", start="zero", decays=True)
"""The matrix F of a bilinear form x^T F y. It can start at zero, since its gradient there, x y^T, is not zero."""

SCORE = Role(name="score", start="zero", decays=True)
"""A chain's transition scores, and the linear term of a biaffine score. The L2 penalty includes these scores, although
their names in weight files begin with ``bias``."""

GAIN = Role(name="gain", start="one", decays=False)
"""The factors of normalised features. Like biases, they are not penalised."""

BIAS = Role(name="bias", start="zero", decays=False)
"""Biases, and the learned states, labels and transitions before the first or after the last token."""


class Parameter(nn.Parameter):
    """A parameter with a role. The role survives copies, moves to a device and loading from a file."""

    role: Role

    def __deepcopy__(self, memo: dict[int, Any]) -> "Parameter":
        copied: Parameter = super().__deepcopy__(memo)  # type: ignore[no-untyped-call]
        copied.role = self.role
        return copied


def parameter(*shape: int, role: Role) -> Parameter:
    """Create a parameter with this shape; the first axis is the lanes. ``initialise`` must set its values."""
    made = Parameter(torch.empty(*shape))
    made.role = role
    return made


def made_on(device: torch.device, dtype: torch.dtype, make: Callable[[], Made]) -> Made:
    """Call ``make`` so that it creates its module directly on ``device``; return the module in ``dtype``."""
    with device:
        made = make()
    return made if dtype == torch.get_default_dtype() else made.to(dtype)


def role_of(value: Tensor) -> Role:
    """Return the role that a parameter was created with."""
    role = getattr(value, "role", None)
    assert isinstance(role, Role), "every parameter of a network is made by ``parameter``"
    return role
