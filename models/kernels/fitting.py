"""Checks of shapes for compiled code, which reads memory by the sizes of weights, unchecked.

A user's embedder, gate, cell or head may return other shapes, which torch's own operations refuse.
"""

from torch import Tensor


def check_shape(name: str, tensor: Tensor | None, *wanted: int) -> None:
    """Raise ValueError for a tensor of another shape; None is an absent part, which passes."""
    if tensor is not None and tensor.shape != wanted:
        raise ValueError(f"{name}: got a tensor of {tuple(tensor.shape)} (allowed here: {wanted})")
