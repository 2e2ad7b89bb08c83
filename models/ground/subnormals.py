"""Subnormal numbers, which are closer to 0 than a float's exponent reaches: gradients that vanish over many time steps
end there, and a CPU takes more than a hundred times as long for a product with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

for each in (np.float32, np.float64):
    np.finfo(each)  # numpy 1 looks at each once, and warns where it finds no subnormal numbers


@contextmanager
def subnormals_are_zero() -> Iterator[None]:
    """Count subnormal numbers as 0 in this thread, and afterwards again as before; also decorates a function.

    A CPU that has no such setting computes with them.
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
