"""Finds out which kinds of kernels this process can run. Importing this module loads neither numba nor Triton.

Each ``no_...`` function returns None if the process can run the kind in its name, otherwise a short reason why not.
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
    """Returns the reason why numba cannot compile here; None if it can."""
    if find_spec("numba") is None:  # such as in a minimal installation for checking a GPU
        return "numba is not installed"
    try:
        from numba import config
    except ImportError as error:  # such as a version of numba that is too old for this numpy
        return f"numba does not load ({one_line(error)})"
    return "numba is told to compile nothing (NUMBA_DISABLE_JIT)" if config.DISABLE_JIT else None


@cache
def no_bfloat16() -> str | None:
    """Returns the reason why compiled code cannot multiply in bfloat16; None if it can."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16

    return None if HAS_BFLOAT16 else "this CPU does not multiply numbers of bfloat16"


@cache
def no_triton() -> str | None:
    """Returns the reason why fused kernels cannot run; None if they can.

    Triton comes with torch's builds for GPUs. It compiles the launcher of its kernels on first use, with a C compiler
    and Python's headers, which small containers lack. So this function makes Triton compile the launcher before any
    kernel is launched.
    """
    if find_spec("triton") is None:
        return "Triton is not installed"
    if not torch.cuda.is_available():
        return "torch finds no GPU"
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang"))):
        return "Triton finds no C compiler"
    try:
        from triton.runtime import driver

        _ = driver.active  # compiles the launcher, as a first launch would; Triton caches it for later processes
    except (ImportError, OSError, RuntimeError, AssertionError, SubprocessError) as error:
        header = Path(sysconfig.get_path("include", "posix_prefix"), "Python.h")
        if not header.is_file():
            return f"Triton needs {header}, as of Debian's python3-dev"
        return f"Triton cannot launch ({one_line(error)})"
    return None


def compiler() -> str:
    """Describes the compiled products and the compiler in few words. Call this only if ``no_compiler`` returns None."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16, REGISTERS

    found = f"numba {version('numba')}"
    if REGISTERS is None:
        return f"products by BLAS, {found}"
    registers = "AVX2 and FMA" if REGISTERS.size == 32 else "AVX-512"
    return f"{registers}{' with bfloat16' if HAS_BFLOAT16 else ''}, {found}"
