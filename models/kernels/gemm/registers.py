"""What a CPU computes at once: how many numbers fill one of its vector registers, and how many registers it has."""

from dataclasses import dataclass
from typing import Final

from llvmlite import binding
from numba import config


@dataclass(frozen=True, slots=True)
class Registers:
    """``size``: bytes of each; ``rows``: so many sums of two registers each stay in registers, and what they need."""

    size: int
    rows: int


def registers_of(features: frozenset[str]) -> Registers | None:
    """Those of an x86-64 CPU with these features; None where there is no product and sum in one instruction."""
    if "avx512f" in features:
        return Registers(size=64, rows=12)
    if {"avx2", "fma"} <= features:
        return Registers(size=32, rows=6)
    return None


def features() -> frozenset[str]:
    """What this CPU can do, or what ``NUMBA_CPU_FEATURES`` says that it may be taken to do."""
    if config.CPU_FEATURES is not None:
        return frozenset(each[1:] for each in config.CPU_FEATURES.split(",") if each.startswith("+"))
    return frozenset(name for name, there in binding.get_host_cpu_features().items() if there)


REGISTERS: Final = registers_of(features())
"""None: nothing that multiplies is compiled."""
HAS_BFLOAT16: Final = {"avx512f", "avx512bf16"} <= features()
"""Whether this CPU multiplies pairs of bfloat16 and sums them up in float32."""
