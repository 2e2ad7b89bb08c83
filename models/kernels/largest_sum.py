"""The largest of several sums of rows of a table.

Axes: V rows of the table, F entries of a row; N maxima, each over C sums of W rows.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from skipstack.models.kernels.ordered import added_up


def largest_sum(table_VF: Tensor, rows_CNW: Tensor) -> Tensor:
    """Computes y_nf = max_c sum_w table[rows_cnw, f]: largest_NF."""
    if torch.is_grad_enabled():
        largest_NF: Tensor = _LargestSum.apply(table_VF, rows_CNW)  # type: ignore[no-untyped-call]
        return largest_NF
    return _sums(table_VF, rows_CNW).amax(dim=0)


class _LargestSum(torch.autograd.Function):
    """Computes the largest sums. If several sums are equally large, only the first sum's rows get the gradient. The
    gradient of torch's ``amax`` would take longer, since it visits all sums.
    """

    @staticmethod
    def forward(ctx: Any, table_VF: Tensor, rows_CNW: Tensor) -> Tensor:
        sum_CNF = _sums(table_VF, rows_CNW)
        largest_NF = sum_CNF.amax(dim=0)
        ctx.save_for_backward(rows_CNW, sum_CNF, largest_NF)
        ctx.shape = table_VF.shape
        return largest_NF

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_NF: Tensor) -> tuple[Tensor, None]:
        rows_CNW, sum_CNF, largest_NF = ctx.saved_tensors
        sums, maxima, numbers = sum_CNF.shape
        countdown_C11 = torch.arange(sums - 1, -1, -1, dtype=torch.int32, device=sum_CNF.device).view(-1, 1, 1)
        # An argmax, faster than torch's: the first index of the largest sum, or the last index if that sum is NaN.
        place_NF = sums - 1 - ((sum_CNF == largest_NF) * countdown_C11).amax(dim=0)
        at_N1, at_F1 = (torch.arange(size, device=place_NF.device).unsqueeze(1) for size in (maxima, numbers))
        chosen_PW = rows_CNW.flatten(0, 1).index_select(0, (place_NF * maxima + at_N1).flatten())
        cell_NFW = chosen_PW.view(maxima, numbers, -1) * numbers + at_F1
        given_NFW = gradient_NF.unsqueeze(-1).expand_as(cell_NFW)
        table = added_up(given_NFW.flatten(), cell_NFW.flatten(), ctx.shape.numel())
        return table.view(ctx.shape), None


def _sums(table_VF: Tensor, rows_CNW: Tensor) -> Tensor:
    places, maxima, _ = rows_CNW.shape
    return functional.embedding_bag(rows_CNW.flatten(0, 1), table_VF, mode="sum").view(places, maxima, -1)
