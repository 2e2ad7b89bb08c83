"""Checks of shapes and indices for compiled code, which reads and writes memory unchecked."""

import os
from functools import cache
from typing import Final

from torch import Tensor

ASSERTED: Final = "SKIPSTACK_KERNELS_ASSERTED"
"""The environment variable that makes ``in_range`` check indices, if it is not empty. Tests set it."""


def check_shape(name: str, tensor: Tensor | None, *wanted: int) -> None:
    """Raises ValueError unless ``tensor`` has the shape ``wanted``, or is None (an absent part). The message contains
    ``name``. A user's embedder, gate, cell or head may return a wrong shape.
    """
    if tensor is not None and tensor.shape != wanted:
        raise ValueError(f"{name}: got a tensor of {tuple(tensor.shape)} (allowed here: {wanted})")


def in_range(indices: Tensor, least: int, stop: int) -> bool:
    """Returns whether all indices are in ``least`` to ``stop`` - 1, for an assertion before a call of compiled code.

    Indices are already checked when data are read (``data/store/ranges.py``). So this function checks again only if the
    environment asks for it (``ASSERTED``), and otherwise returns True.
    """
    if not asserted() or indices.numel() == 0:
        return True
    smallest, largest = indices.aminmax()
    return least <= int(smallest) and int(largest) < stop


@cache
def asserted() -> bool:
    """Returns whether the environment asks for checks of indices. The environment is read once."""
    return bool(os.environ.get(ASSERTED))
