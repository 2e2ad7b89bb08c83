"""Which numbers compiled operations take. It loads no numba, which takes a quarter of a second."""

from functools import cache
from importlib.util import find_spec
from typing import Final

import torch
from torch import Tensor

from skipstack.models.ground.scanning import exporting

HAS_NUMBA: Final = find_spec("numba") is not None
"""A machine that has little more than torch, to look at its GPU, trains without."""
TYPES: Final = frozenset({torch.float32, torch.float64})


def compiles(x: Tensor) -> bool:
    """Those on a CPU, of the types of networks. A program that torch exports has operations of torch alone."""
    return x.is_cpu and x.dtype in TYPES and not exporting() and compiles_on_host()


def compiles_on_host() -> bool:
    """Whether what is found in the host's arrays, for whatever device, is found by what is compiled."""
    return HAS_NUMBA and _multiplies()


@cache
def _multiplies() -> bool:
    """Whether matrix products are compiled for this CPU."""
    from skipstack.models.kernels.gemm.registers import REGISTERS

    return REGISTERS is not None


@cache
def multiplies_bfloat16() -> bool:
    """Whether those of bfloat16 are."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16

    return HAS_BFLOAT16
