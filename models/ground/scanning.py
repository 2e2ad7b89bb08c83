"""A loop over time as one operation, in place of as many as there are steps: for programs that torch exports.

It is for export only: the other loops compute the same, faster, and can be trained.
"""

from collections.abc import Callable
from typing import Any, Final

import torch

try:
    from torch._higher_order_ops.scan import scan as torch_scan
except ImportError:
    torch_scan = None

scan: Final[Callable[..., Any] | None] = torch_scan if torch.__version__ >= "2.9" else None
"""Torch's scan; None if torch has none or cannot export it: loops are then exported step by step."""

exporting: Final[Callable[[], bool]] = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
"""Whether torch exports the running code (``models/views/program.py``); torch 2.6 reports only that it compiles it."""
