"""Tensors as the arrays that compiled operations read and write."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ABSENT: dict[torch.dtype, NDArray[Any]] = {
    torch.float32: np.empty((0, 0, 0, 0), np.float32),
    torch.float64: np.empty((0, 0, 0, 0), np.float64),
}
"""Empty arrays that stand for an absent part."""


def arrays(first: Tensor, *others: Tensor | None) -> list[NDArray[Any]]:
    """The array of each tensor, a copy if not contiguous; of an absent one, an empty array of the first's type."""
    absent = ABSENT[first.dtype]
    return [absent if tensor is None else numbers(tensor) for tensor in (first, *others)]


def numbers(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a tensor, whether or not it requires gradients; a copy if it is not contiguous."""
    constant = tensor.detach() if tensor.requires_grad else tensor
    array: NDArray[Any] = constant.contiguous().numpy()
    return array


def sparse(lane_and_row: Tensor, values: Tensor, shape: torch.Size, *, summed: bool = False) -> Tensor:
    """A table of zeros except for these rows; ``summed``: they are distinct and ascending."""
    return torch.sparse_coo_tensor(lane_and_row, values, shape, is_coalesced=summed, check_invariants=False)
