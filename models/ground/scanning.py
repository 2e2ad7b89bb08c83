"""Torch's ``scan``, with which an exported program holds a loop over time as one operation, not as a copy per step.

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
"""Torch's scan. None in versions before 2.9, which cannot export it; loops are then exported step by step."""

exporting: Final[Callable[[], bool]] = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
"""A function that returns whether torch is exporting the running code (``models/views/program.py``). In old versions of
torch, such as 2.6, it returns whether torch is compiling the code, since they cannot tell the two apart."""
