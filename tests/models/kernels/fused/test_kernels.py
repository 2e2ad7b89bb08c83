"""What a GPU runs in one launch, where there is none: interpreted, compiled for several GPUs, and launched on none."""

import json
import os
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from tests.models.kernels.fused import dry
from tests.models.kernels.fused.dry import COMPILER, GROUPS, STEPS, stub

CAPABILITIES = ("80", "90", "100")
"""Of GPUs: Ampere, Hopper and Blackwell."""
KERNELS = {"lstm_forward", "lstm_backward", "block_forward", "block_backward", "uniform"}
REGISTERS, SHARED = 64, 48 * 1024
"""With at most 64 registers a thread, half as many threads as a multiprocessor can have run there; and every GPU gives
a program 48 KiB without being asked."""
VARIANTS = 8
WITHIN = {"float32": 1e-4, "float64": 1e-12, "bfloat16": 2e-2, "rounding": 1.01}
"""Bounds on the distance from the steps. In bfloat16 both are rounded, in places of their own: that costs each 5 to 7 %
at most, and the kernels no more than the steps.
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: this system has none"),
]
needs_parts = pytest.mark.skipif(
    find_spec("triton") is not None and Version(version("triton")) < Version("3.6"),
    reason="Triton before 3.6 has other parts than those that record, compile ahead and launch here",
)
needs_compiler = pytest.mark.skipif(
    COMPILER is None or not Path(sysconfig.get_path("include", "posix_prefix"), "Python.h").is_file(),
    reason="Triton compiles its launcher with gcc, clang or CC, and Python.h",
)


def child(name: str, folder: Path, *arguments: object, interpret: bool = False) -> Any:
    """What a program beside this file prints; it keeps what it compiles in ``folder``."""
    there = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), "TRITON_INTERPRET": str(int(interpret))}
    command = [sys.executable, "-m", f"{dry.__package__}.{name}", *map(str, arguments)]
    done = subprocess.run(command, env=there, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_kernels_give_what_the_operations_of_torch_give(tmp_path: Path) -> None:
    furthest = child("interpreted", tmp_path, interpret=True)
    assert furthest.pop("draws") == 0
    assert set(furthest) == {f"{loop}, {numbers}" for loop in ("LSTM", "block") for numbers in WITHIN}
    for case, apart in furthest.items():
        assert apart < WITHIN[case.split()[-1]], case


@pytest.mark.slow
@needs_parts
def test_every_kernel_is_compiled_for_every_gpu_and_keeps_its_numbers_in_registers(tmp_path: Path) -> None:
    found = child("ahead", tmp_path, *CAPABILITIES)
    assert list(found) == [*CAPABILITIES]
    for variants in found.values():
        assert {each["kernel"] for each in variants} == KERNELS
        for each in variants:
            assert each["stack"] == each["local"] == 0, each
            assert each["registers"] <= REGISTERS, each
            assert each["shared"] <= SHARED, each


@pytest.mark.slow
@needs_parts
@needs_compiler
def test_each_step_is_one_launch_of_one_of_few_variants(tmp_path: Path) -> None:
    """By Triton's own launcher, on a driver that counts."""
    found = child("dry", tmp_path, stub(tmp_path))
    assert found["why"] is None, "what launches can be made"
    for each in found["cases"]:
        assert each["launches"] == 2 * STEPS, each
        ((groups, programs, one, threads),) = each["grids"]
        assert (groups, one, threads) == (GROUPS, 1, 128), each
        assert 256 * (programs - 1) < each["numbers"] <= 256 * programs, each
        assert each["variants"] <= VARIANTS, each
    assert len(found["cases"]) == 90
