"""Counts subnormal numbers as 0. These numbers are closer to 0 than a float's exponent reaches.

Gradients that vanish over many time steps become subnormal, and a CPU takes more than a hundred times as long for a
product with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

for each in (np.float32, np.float64):
    np.finfo(each)  # numpy 1 examines each dtype once, and would warn later, while subnormal numbers count as 0


@contextmanager
def subnormals_are_zero() -> Iterator[None]:
    """Count subnormal numbers as 0 in this thread within the context, which may also decorate a function.

    Afterwards the thread's earlier setting is restored. On a CPU without such a setting this has no effect.
    """
    before = are_zero()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def are_zero() -> bool:
    """Whether this thread counts subnormal numbers as 0."""
    smallest = torch.tensor(torch.finfo(torch.float32).tiny, dtype=torch.float32, device="cpu")
    return bool(smallest / 2 == 0)
