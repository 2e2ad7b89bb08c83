"""Checks of shapes and indices for compiled code, which reads and writes memory unchecked."""

import os
from functools import cache
from typing import Final

from torch import Tensor

ASSERTED: Final = "SKIPSTACK_KERNELS_ASSERTED"
"""The environment variable that has indices checked before they reach compiled code (``in_range``); tests set it."""


def check_shape(name: str, tensor: Tensor | None, *wanted: int) -> None:
    """Raise ValueError for a tensor of another shape than weights have, as a user's embedder, gate, cell or head may
    return it; None is an absent part, which passes.
    """
    if tensor is not None and tensor.shape != wanted:
        raise ValueError(f"{name}: got a tensor of {tuple(tensor.shape)} (allowed here: {wanted})")


def in_range(indices: Tensor, least: int, stop: int) -> bool:
    """Whether all indices are ``least`` to ``stop`` - 1, for an assertion before a call of compiled code.

    Indices are in range since data are checked when they are read in (``data/store/ranges.py``); so this checks only if
    the environment asks for it, and is True otherwise.
    """
    if not asserted() or indices.numel() == 0:
        return True
    smallest, largest = indices.aminmax()
    return least <= int(smallest) and int(largest) < stop


@cache
def asserted() -> bool:
    """Whether the environment asks to check indices, read once."""
    return bool(os.environ.get(ASSERTED))
