"""Conversion of tensors to the arrays that compiled operations read and write."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ABSENT: dict[torch.dtype, NDArray[Any]] = {
    torch.float32: np.empty((0, 0, 0, 0), np.float32),
    torch.float64: np.empty((0, 0, 0, 0), np.float64),
}
"""Maps each type of numbers to an empty array of this type, which stands for an absent part."""


def arrays(first: Tensor, *others: Tensor | None) -> list[NDArray[Any]]:
    """Returns the array of each tensor, as ``numbers`` does. None becomes an empty array of the type of ``first``."""
    absent = ABSENT[first.dtype]
    return [absent if tensor is None else numbers(tensor) for tensor in (first, *others)]


def numbers(tensor: Tensor) -> NDArray[Any]:
    """Returns a tensor's numbers as an array, without gradients. Copies the numbers if they are not contiguous."""
    constant = tensor.detach() if tensor.requires_grad else tensor
    array: NDArray[Any] = constant.contiguous().numpy()
    return array


def sparse(lane_and_row: Tensor, values: Tensor, shape: torch.Size, *, summed: bool = False) -> Tensor:
    """Returns a sparse table with ``values`` at ``lane_and_row``. ``summed``: whether rows are distinct and sorted."""
    return torch.sparse_coo_tensor(lane_and_row, values, shape, is_coalesced=summed, check_invariants=False)
