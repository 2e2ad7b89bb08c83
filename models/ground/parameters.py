"""The role of a parameter, given where it is created: how it is initialised, and whether L2 decays it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

Made = TypeVar("Made", bound=nn.Module)

Start = Literal["fan_in", "orthogonal", "width", "zero"]
"""Initial values (``models/ground/initialise.py``): normal, scaled by the fan in; orthogonal blocks, one per gate;
normal, scaled by the width of a vector; 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """The role of a parameter. ``decays``: whether the L2 penalty includes it (``models/training/optimisers.py``)."""

    name: str
    start: Start
    decays: bool


WEIGHT = Role(name="weight", start="fan_in", decays=True)
"""A matrix; the last two axes are (fan in, fan out)."""

RECURRENT = Role(name="recurrent", start="orthogonal", decays=True)
"""The matrix from the previous step's state to the pre-activations of all gates."""

TABLE = Role(name="table", start="width", decays=True)
"""A table of vectors, one per row."""

FORM = Role(name="form", start="zero", decays=True)
"""A bilinear form. Its gradient comes from both factors at once, so it can start at zero, without a preference."""

SCORE = Role(name="score", start="zero", decays=True)
"""A chain's transition scores, and the linear term of a biaffine score: weights by their use, although their names in
weight files begin with ``bias``."""

BIAS = Role(name="bias", start="zero", decays=False)
"""Biases, and learned states, labels and transitions before the first and after the last token."""


class Parameter(nn.Parameter):
    """A parameter with a role, which survives copies, moves to a device and loading from a file."""

    role: Role

    def __deepcopy__(self, memo: dict[int, Any]) -> "Parameter":
        copied: Parameter = super().__deepcopy__(memo)  # type: ignore[no-untyped-call]
        copied.role = self.role
        return copied


def parameter(*shape: int, role: Role) -> Parameter:
    """A parameter of this shape, lanes first, without values: ``initialise`` gives them."""
    made = Parameter(torch.empty(*shape))
    made.role = role
    return made


def made_on(device: torch.device, dtype: torch.dtype, make: Callable[[], Made]) -> Made:
    """The module that ``make`` creates, on ``device`` from the start, with numbers of ``dtype``."""
    with device:
        made = make()
    return made if dtype == torch.get_default_dtype() else made.to(dtype)


def role_of(value: Tensor) -> Role:
    """The role that a parameter was created with."""
    role = getattr(value, "role", None)
    assert isinstance(role, Role), "every parameter of a network is made by ``parameter``"
    return role
