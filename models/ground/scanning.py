"""A loop over time as one operation, in place of as many as there are steps: for programs that torch exports.

It is for export only: the loops beside it compute the same, faster, and can be trained.
"""

import torch
from torch._higher_order_ops.scan import scan

exporting = torch.compiler.is_exporting
"""Whether torch is exporting the running code (``models/views/program.py``)."""

__all__ = ["exporting", "scan"]
