"""Torch's ``scan``: a loop over time as one operation of an exported program, instead of unrolled steps.

``scan`` is for export only: elsewhere plain loops compute the same faster, and can be trained.
"""

from collections.abc import Callable
from typing import Any, Final

import torch

try:
    from torch._higher_order_ops.scan import scan as torch_scan
except ImportError:
    torch_scan = None

scan: Final[Callable[..., Any] | None] = torch_scan if torch.__version__ >= "2.9" else None
"""Torch's scan. None before torch 2.9, since older versions cannot export a scan. Exported loops are then unrolled."""

exporting: Final[Callable[[], bool]] = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
"""A function that returns whether torch is exporting the running code (``models/views/program.py``). Old versions of
torch, such as 2.6, cannot tell exporting from compiling. With them, the function returns whether torch is compiling."""
