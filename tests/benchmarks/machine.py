"""The machine and the versions that figures are from."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from skipstack.data.basis.system import usable_cpus

INSTRUCTIONS: Final = {"amx_tile": "AMX", "avx512_bf16": "AVX512-BF16", "avx512f": "AVX512", "avx2": "AVX2"}
"""Instructions for products, by their flags in Linux; the first that a CPU has decides how fast they are."""


def hardware() -> str:
    """Names CPUs and instructions: ``2 cores, AMD EPYC with AVX512``."""
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
    """The version that is installed; None where it is not."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None
