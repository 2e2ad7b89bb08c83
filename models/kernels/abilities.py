"""Checks of what this process can run besides torch's operations. Importing this loads neither numba nor Triton.

Each ``no_...`` function returns None if the process can, otherwise the reason in a few words.
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
    """The reason why nothing can be compiled."""
    if find_spec("numba") is None:  # as on a machine that has little more than torch, to look at its GPU
        return "numba is not installed"
    try:
        from numba import config
    except ImportError as error:  # such as of a version that this numpy is too new for
        return f"numba does not load ({one_line(error)})"
    return "numba is told to compile nothing (NUMBA_DISABLE_JIT)" if config.DISABLE_JIT else None


@cache
def no_bfloat16() -> str | None:
    """The reason why compiled code has no products in bfloat16."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16

    return None if HAS_BFLOAT16 else "this CPU does not multiply numbers of bfloat16"


@cache
def no_triton() -> str | None:
    """The reason why no fused kernels can run. Triton comes with torch's builds for GPUs. It compiles the launcher of
    its kernels on first use, by a C compiler and with Python's headers, which small containers lack: so it is asked for
    a launcher here, before anything is launched.
    """
    if find_spec("triton") is None:
        return "Triton is not installed"
    if not torch.cuda.is_available():
        return "torch finds no GPU"
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang"))):
        return "Triton finds no C compiler"
    try:
        from triton.runtime import driver

        _ = driver.active  # compiles the launcher as a first launch would; later processes find it
    except (ImportError, OSError, RuntimeError, AssertionError, SubprocessError) as error:
        header = Path(sysconfig.get_path("include", "posix_prefix"), "Python.h")
        if not header.is_file():
            return f"Triton needs {header}, as of Debian's python3-dev"
        return f"Triton cannot launch ({one_line(error)})"
    return None


def compiler() -> str:
    """Names what compiles here and what multiplies in compiled code, in a few words. ``no_compiler`` must be None."""
    from skipstack.models.kernels.gemm.registers import HAS_BFLOAT16, REGISTERS

    found = f"numba {version('numba')}"
    if REGISTERS is None:
        return f"products by BLAS, {found}"
    registers = "AVX2 and FMA" if REGISTERS.size == 32 else "AVX-512"
    return f"{registers}{' with bfloat16' if HAS_BFLOAT16 else ''}, {found}"
