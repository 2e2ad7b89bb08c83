"""A program run as on an x86 CPU of 2013 with AVX2: numba compiles for it, and torch's libraries use of this one what
all have.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.pages import ROOT

ANOTHER: Final = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+fma",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
}


def on_another_cpu(program: str, kept_code: Path) -> str:
    """What the program prints; what is compiled for it is kept in a folder of its own."""
    there = {**os.environ, **ANOTHER, "NUMBA_CACHE_DIR": str(kept_code)}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, env=there, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
