"""The gradients of networks against central differences of what they are the gradients of."""

from collections.abc import Callable, Iterable

import numpy as np
from torch import Tensor

STEP = 1e-6


def equal_central_differences(
    tensors: Iterable[tuple[str, Tensor]], value: Callable[[int], float], *, places: int = 4, tolerance: float = 1e-7
) -> None:
    """The gradient of each named tensor says how ``value`` moves with it, at a few places drawn from it.

    ``value`` is told the first index of the place that moves: in parameters, its lane.
    """
    rng = np.random.default_rng(8)
    for name, tensor in tensors:
        assert tensor.grad is not None, name
        flat, gradient = tensor.data.view(-1), tensor.grad.reshape(-1)
        for index in rng.choice(len(flat), size=min(places, len(flat)), replace=False):
            values = []
            for sign in (1, -1):
                flat[index] += sign * STEP
                values.append(value(int(index) * len(tensor) // len(flat)))
                flat[index] -= sign * STEP
            assert abs((values[0] - values[1]) / (2 * STEP) - float(gradient[index])) < tolerance, name
