"""Shapes that compiled code takes for granted: it reads memory by the sizes of weights, without looking.

A user's embedder, gate, cell or head may give others, which torch's own operations refuse.
"""

from torch import Tensor


def check_shape(name: str, tensor: Tensor | None, *wanted: int) -> None:
    """Raise ValueError for a tensor of another shape; None is a part that there is not."""
    if tensor is not None and tensor.shape != wanted:
        raise ValueError(f"{name}: got a tensor of {tuple(tensor.shape)} (allowed here: {wanted})")
