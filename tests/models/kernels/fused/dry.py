"""The kernels launched by Triton's own launcher, on a driver that only counts (``libcuda.c``).

A program of its own: the driver is there before torch looks for another. Nothing is computed.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import product
from pathlib import Path

COMPILER = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
"""The one that Triton takes."""
NAME = "libcuda.so.1"
HIDDEN, SENTENCES = (24, 50, 100, 300, 465), (1, 10, 32)
GROUPS, STEPS = 4, 9
MOST = 4096
"""Launches that are kept."""


class Launch(ctypes.Structure):
    """As in ``libcuda.c``."""

    _fields_ = [("function", ctypes.c_longlong), *((each, ctypes.c_uint) for each in ("x", "y", "z", "threads"))]


def stub(folder: Path) -> Path:
    """The driver, built there; Triton has the header that says what one has."""
    spec = find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    assert COMPILER is not None
    headers, library = Path(spec.origin).parent / "backends/nvidia/include", folder / NAME
    source = Path(__file__).parent / "libcuda.c"
    command = [COMPILER, "-shared", "-fPIC", f"-Wl,-soname,{NAME}", f"-I{headers}", source]
    subprocess.run([*command, "-o", library], check=True)
    return library


def main(library: str) -> None:
    """Print why the kernels cannot be launched, and of each case its launches, their grids, and how many variants of
    kernels they are of.
    """
    stand_in = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    os.environ["TRITON_LIBCUDA_PATH"] = str(Path(library).parent)

    import torch
    from triton.runtime import driver

    from skipstack.models.kernels import abilities
    from tests.models.kernels.fused.launched import LOOPS, NoDevice, passes

    torch.set_num_threads(1)
    torch.cuda.is_available = lambda: True
    why = abilities.no_triton()
    for name in ("get_current_device", "get_current_stream", "get_current_target"):  # which torch would be asked for
        setattr(driver.active, name, getattr(NoDevice(), name))
    count, launches = ctypes.c_int.in_dll(stand_in, "launched"), (Launch * MOST).in_dll(stand_in, "launches")
    cases = []
    for hidden, sentences, loop, parts in product(HIDDEN, SENTENCES, LOOPS, (False, True)):
        count.value = 0
        passes(loop, (GROUPS, STEPS, sentences, hidden), parts=parts)
        seen = launches[: count.value]
        grids = sorted({(each.x, each.y, each.z, each.threads) for each in seen})
        variants = len({each.function for each in seen})
        case = f"{loop} of {hidden}, {sentences} sentences, {'all' if parts else 'no'} parts"
        of = {"case": case, "numbers": hidden * sentences, "launches": len(seen)}
        cases.append({**of, "grids": grids, "variants": variants})
    print(json.dumps({"why": why, "cases": cases}))


if __name__ == "__main__":
    main(*sys.argv[1:])
