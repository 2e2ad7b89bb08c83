"""Flushes subnormal numbers to zero. A number is subnormal if it is too small for a float's exponent range.

Gradients that vanish over many time steps become subnormal. A CPU takes over a hundred times as long to multiply
subnormal numbers as to multiply others.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

for each in (np.float32, np.float64):
    np.finfo(each)  # numpy 1 examines each dtype once; while subnormals are flushed, it would warn


@contextmanager
def subnormals_are_zero() -> Iterator[None]:
    """Flush subnormal numbers to zero in this thread, within the context or the function that it decorates.

    Afterwards the thread's previous setting is restored. Does nothing on a CPU without such a setting.
    """
    before = are_zero()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def are_zero() -> bool:
    """Whether this thread flushes subnormal numbers to zero."""
    smallest = torch.tensor(torch.finfo(torch.float32).tiny, dtype=torch.float32, device="cpu")
    return bool(smallest / 2 == 0)
