"""Which numbers fused operations take. It loads no Triton."""

import shutil
from importlib.util import find_spec
from typing import Final

from torch import Tensor

from skipstack.models.ground.device import SIMULATED
from skipstack.models.ground.scanning import exporting

HAS_TRITON: Final = find_spec("triton") is not None and any(map(shutil.which, ("cc", "gcc", "clang")))
"""It comes with torch where that is made for GPUs, and needs a C compiler, which small containers lack."""


def fuses(x: Tensor) -> bool:
    """Those on a GPU, and on the simulated one, which launches as one."""
    kind = x.device.type
    return not exporting() and (kind == SIMULATED or (kind == "cuda" and HAS_TRITON))
