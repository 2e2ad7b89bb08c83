"""What this process can run beside torch's operations, and why not where it cannot. Nothing is loaded to import this.

Each function gives None where it can, and else the reason, in a few words.
"""

import os
import shutil
import sysconfig
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from subprocess import SubprocessError

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
    """Of what is fused. Triton comes with torch where that is made for GPUs. What launches its kernels it compiles on
    the spot, by a C compiler and with Python's headers, which small containers lack: so it is asked for that here,
    before anything is launched.
    """
    if find_spec("triton") is None:
        return "Triton is not installed"
    if not torch.cuda.is_available():
        return "torch finds no GPU"
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang"))):
        return "Triton finds no C compiler"
    try:
        from triton.runtime import driver

        _ = driver.active  # which is made once, as by a first launch, and kept for the next process
    except (ImportError, OSError, RuntimeError, AssertionError, SubprocessError) as error:
        header = Path(sysconfig.get_path("include", "posix_prefix"), "Python.h")
        if not header.is_file():
            return f"Triton needs {header}, as of Debian's python3-dev"
        return f"Triton cannot launch ({one_line(error)})"
    return None


def compiler() -> str:
    """What compiles here, and what multiplies in compiled code, in a few words; only where it does."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16, REGISTERS

    found = f"numba {version('numba')}"
    if REGISTERS is None:
        return f"products by BLAS, {found}"
    registers = "AVX2 and FMA" if REGISTERS.size == 32 else "AVX-512"
    return f"{registers}{' with bfloat16' if HAS_BFLOAT16 else ''}, {found}"
