"""What this process can run beside torch's operations, and why not where it cannot. Nothing is loaded to import this.

Each function gives None where it can, and else the reason, in a few words.
"""

import shutil
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

import torch

from skipstack.data.basis.errors import one_line


@cache
def no_compiler() -> str | None:
    """Of all that is compiled."""
    if find_spec("numba") is None:  # as on a machine that has little more than torch, to look at its GPU
        return "numba is not installed"
    try:
        from numba import config
    except ImportError as error:  # such as of a version that this numpy is too new for
        return f"numba does not load ({one_line(error)})"
    return "numba is told to compile nothing (NUMBA_DISABLE_JIT)" if config.DISABLE_JIT else None


@cache
def no_bfloat16() -> str | None:
    """Of such products in bfloat16."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16

    return None if HAS_BFLOAT16 else "this CPU does not multiply numbers of bfloat16"


@cache
def no_triton() -> str | None:
    """Of what is fused. Triton comes with torch where that is made for GPUs, and needs a C compiler, which small
    containers lack.
    """
    if find_spec("triton") is None:
        return "Triton is not installed"
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        return "Triton finds no C compiler"
    return None if torch.cuda.is_available() else "torch finds no GPU"


def compiler() -> str:
    """What compiles here, and what multiplies in compiled code, in a few words; only where it does."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16, REGISTERS

    found = f"numba {version('numba')}"
    if REGISTERS is None:
        return f"products by BLAS, {found}"
    registers = "AVX2 and FMA" if REGISTERS.size == 32 else "AVX-512"
    return f"{registers}{' with bfloat16' if HAS_BFLOAT16 else ''}, {found}"
