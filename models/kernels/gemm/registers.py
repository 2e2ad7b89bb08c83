"""A CPU's vector registers: their size, and the number of rows of sums that fit into them."""

from dataclasses import dataclass
from typing import Final

from llvmlite import binding
from numba import config


@dataclass(frozen=True, slots=True)
class Registers:
    """A CPU's vector registers. ``size``: bytes of each. ``rows``: rows of sums that fit, at two registers a row."""

    size: int
    rows: int


def registers_of(features: frozenset[str]) -> Registers | None:
    """Returns the registers of a CPU with these features; None if it has neither AVX-512 nor both AVX2 and FMA."""
    if "avx512f" in features:
        return Registers(size=64, rows=12)
    if {"avx2", "fma"} <= features:
        return Registers(size=32, rows=6)
    return None


def features() -> frozenset[str]:
    """Returns the CPU features that LLVM may use: this CPU's, within the user's settings (``NUMBA_ENABLE_AVX``,
    ``NUMBA_CPU_NAME``, ``NUMBA_CPU_FEATURES``). LLVM ends the process if code needs any other feature.
    """
    if config.CPU_FEATURES is not None:
        return frozenset(each[1:] for each in config.CPU_FEATURES.split(",") if each.startswith("+"))
    try:
        host = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this CPU
        return frozenset()
    return frozenset(each for each, has in host.items() if has and (config.ENABLE_AVX or not each.startswith("avx")))


REGISTERS: Final = registers_of(features())
"""The registers of this CPU. None means that BLAS multiplies (``blas.py``)."""
HAS_BFLOAT16: Final = {"avx512f", "avx512bf16"} <= features()
"""Whether this CPU, as far as the user's settings allow, multiplies pairs of bfloat16 and sums them in float32."""
