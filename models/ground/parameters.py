"""What a parameter is for, said where it is made: how it starts, and whether L2 makes it smaller."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

Made = TypeVar("Made", bound=nn.Module)

Start = Literal["fan_in", "orthogonal", "width", "zero"]
"""Initial values (``models/ground/initialise.py``): normal, scaled by how many numbers are summed up; orthogonal
blocks, one a gate; normal, scaled by the width of a vector; 0.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """What a parameter is for. ``decays``: whether the L2 penalty counts it (``models/training/optimisers.py``)."""

    name: str
    start: Start
    decays: bool


WEIGHT = Role(name="weight", start="fan_in", decays=True)
"""A matrix; the last two axes are (fan in, fan out)."""

RECURRENT = Role(name="recurrent", start="orthogonal", decays=True)
"""The matrix from the previous step's state to the pre-activations of all gates."""

TABLE = Role(name="table", start="width", decays=True)
"""Vectors that are looked up, one a row."""

FORM = Role(name="form", start="zero", decays=True)
"""A bilinear form. Its gradient comes from both sides at once: it can start at zero, where it prefers nothing."""

SCORE = Role(name="score", start="zero", decays=True)
"""A chain's scores of moves, and the linear term of a biaffine score: weights by what they do, though their names in
files of weights begin with ``bias``."""

BIAS = Role(name="bias", start="zero", decays=False)
"""What is added whatever is read, and what stands for a state, a label or a move before the first or after the last."""


class Parameter(nn.Parameter):
    """A parameter that knows its role, also once it is copied, moved to a device or filled from a file."""

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
    """The module that ``make`` makes, on ``device`` from the start, in numbers of ``dtype``."""
    with device:
        made = make()
    return made if dtype == torch.get_default_dtype() else made.to(dtype)


def role_of(value: Tensor) -> Role:
    """The role that a parameter was made with."""
    role = getattr(value, "role", None)
    assert isinstance(role, Role), "every parameter of a network is made by ``parameter``"
    return role
