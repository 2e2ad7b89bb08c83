"""Which numbers compiled operations take. It loads no numba, which takes a quarter of a second."""

from importlib.util import find_spec
from typing import Final

import torch
from torch import Tensor

from skipstack.models.scanning import exporting

HAS_NUMBA: Final = find_spec("numba") is not None
"""A machine that has little more than torch, to look at its GPU, trains without."""


def compiles(x: Tensor) -> bool:
    """Those on a CPU, of the types of networks. A program that torch exports has operations of torch alone."""
    if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64) or exporting() or not HAS_NUMBA:
        return False
    from skipstack.models.compiled import products

    return products.AVAILABLE
