"""Torch's ``scan``, with which an exported program holds a loop over time as one operation, not as a copy per step.

It is for export only: the loops used elsewhere compute the same, faster, and can be trained.
"""

from collections.abc import Callable
from typing import Any, Final

import torch

try:
    from torch._higher_order_ops.scan import scan as torch_scan
except ImportError:
    torch_scan = None

scan: Final[Callable[..., Any] | None] = torch_scan if torch.__version__ >= "2.9" else None
"""Torch's scan; None before torch 2.9, which cannot export it. Loops are then exported step by step."""

exporting: Final[Callable[[], bool]] = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
"""Whether torch is exporting the running code (``models/views/program.py``). Old versions such as 2.6 have no such
function; the one used instead tells only whether torch is compiling the code."""
