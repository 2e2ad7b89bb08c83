"""The machine and the versions that figures are from."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from skipstack.data.basis.system import usable_cpus

INSTRUCTIONS: Final = {"amx_tile": "AMX", "avx512_bf16": "AVX512-BF16", "avx512f": "AVX512", "avx2": "AVX2"}
"""What decides how fast products are: the first that a CPU has, by its flag in Linux."""


def hardware() -> str:
    """``2 cores, AMD EPYC with AVX512``."""
    flags = cpu("flags").split()
    instructions = next((f" with {name}" for flag, name in INSTRUCTIONS.items() if flag in flags), "")
    return f"{usable_cpus()} cores, {cpu('model name') or platform.processor()}{instructions}"


def cpu(field: str) -> str:
    """A field of the first CPU, as Linux has it; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":")[1].strip() for line in lines if line.startswith(field)), "")


def version_of(library: str) -> str | None:
    """None where it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None
