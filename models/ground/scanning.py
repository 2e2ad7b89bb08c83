"""A loop over time as one operation, in place of as many as there are steps: for programs that torch exports.

Only there: it computes what the loops beside it do, which are faster, and learn.
"""

import torch
from torch._higher_order_ops.scan import scan

exporting = torch.compiler.is_exporting
"""Whether torch is exporting what is being run (``models/views/program.py``)."""

__all__ = ["exporting", "scan"]
