"""Gradients of tables, stored only for the rows that were looked up, since all other rows have a gradient of zero.

Axes: R lanes (a lane is one seed's copy of the network), V rows of a table, E entries of a row; N positions at which
rows were looked up; U distinct rows among them, lane after lane.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from skipstack.models.kernels.bounds import in_range
from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.compiled.arrays import sparse


class LookUp(torch.autograd.Function):
    """Looks up rows of a table. The table's gradient is a sparse table with an entry for each position."""

    @staticmethod
    def forward(ctx: Any, table_RVE: Tensor, rows: Tensor) -> Tensor:
        """Returns the vectors, with one more axis than ``rows``. Row v of lane r has the index rV + v."""
        ctx.save_for_backward(rows)
        ctx.shape = table_RVE.shape
        return functional.embedding(rows, table_RVE.flatten(0, 1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Returns the gradient of the table."""
        (rows,) = ctx.saved_tensors
        lanes, size, _ = ctx.shape
        lane_R1 = torch.arange(lanes, device=rows.device).unsqueeze(1)
        row_RN = rows.flatten(1) - lane_R1 * size
        lane_and_row = torch.stack([lane_R1.expand_as(row_RN), row_RN]).flatten(1)
        return sparse(lane_and_row, gradient.reshape(rows.numel(), -1), ctx.shape), None


def gradient_rows(parameter: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the gradient of a table by rows: lane_and_row_2U (the distinct rows in ascending order) and values_UE.

    A row's values are summed in the same order as in a dense gradient, so both gradients have the same bits. The sums
    are computed once, and stored in ``parameter.grad``. values_UE shares that memory.
    """
    gradient = parameter.grad
    assert gradient is not None
    if gradient.is_coalesced():
        return gradient.indices(), gradient.values()
    lane_and_row_2U, values_UE = _summed(gradient._indices(), gradient._values(), parameter.shape[1])
    parameter.grad = sparse(lane_and_row_2U, values_UE, gradient.shape, summed=True)
    return lane_and_row_2U, values_UE


def _summed(lane_and_row_2N: Tensor, values_NE: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Returns the lanes and indices of the distinct rows, ascending, and the sum of each row's values. The order of
    summation is the same as in a dense gradient. ``size``: the number of rows of each lane.
    """
    if choose("rows", values_NE) == "compiled":
        from skipstack.models.kernels.compiled.inputs.places import summed  # numba takes a quarter of a second to load

        assert in_range(lane_and_row_2N[1], 0, size), "each lane has so many rows"
        places_2U, sums_UE = summed(lane_and_row_2N.numpy(), values_NE.numpy(), size)
        return torch.from_numpy(places_2U), torch.from_numpy(sums_UE)
    lane_N, row_N = lane_and_row_2N
    at_U, place_N = torch.unique(lane_N * size + row_N, return_inverse=True)
    values_UE = torch.ops.aten.embedding_dense_backward(values_NE, place_N, len(at_U), -1, False)
    lane_U = at_U.div(size, rounding_mode="floor")
    return torch.stack([lane_U, at_U - lane_U * size]), values_UE
