"""The largest of sums of rows, held against numpy and against what torch itself derives."""

import numpy as np
import torch
from torch import Tensor

from skipstack.models.kernels.largest_sum import largest_sum

SOURCE = torch.Generator().manual_seed(5)
TABLE_VF = torch.randn(9, 4, generator=SOURCE, dtype=torch.float64)
ROWS_CNW = torch.randint(0, 9, (6, 7, 3), generator=SOURCE)


def test_it_is_what_numpy_finds_with_and_without_a_gradient() -> None:
    expected = TABLE_VF.numpy()[ROWS_CNW.numpy()].sum(axis=2).max(axis=0)
    np.testing.assert_allclose(largest_sum(TABLE_VF.clone().requires_grad_(), ROWS_CNW).detach(), expected, atol=1e-12)
    with torch.no_grad():
        np.testing.assert_allclose(largest_sum(TABLE_VF, ROWS_CNW), expected, atol=1e-12)


def test_its_gradient_equals_central_differences_where_the_largest_is_the_only_one() -> None:
    assert torch.autograd.gradcheck(lambda table: largest_sum(table, ROWS_CNW), TABLE_VF.clone().requires_grad_())


def test_of_equal_sums_the_first_learns() -> None:
    table_VF = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
    largest_sum(table_VF, torch.tensor([[[0, 0]], [[0, 2]], [[1, 1]]])).sum().backward()
    assert gradient_of(table_VF).tolist() == [[1.0], [0.0], [1.0]]


def test_a_row_of_minus_infinity_is_never_the_largest_and_learns_nothing() -> None:
    table_VF = torch.tensor([[-5.0], [-torch.inf]], requires_grad=True)
    best = largest_sum(table_VF, torch.tensor([[[1, 0]], [[0, 0]], [[1, 1]]]))
    best.sum().backward()
    assert best.item() == -10
    assert gradient_of(table_VF).tolist() == [[2.0], [0.0]]


def test_sums_of_a_diverged_network_are_nan_and_end_in_no_error() -> None:
    table_VF = torch.tensor([[torch.nan], [1.0]], requires_grad=True)
    best = largest_sum(table_VF, torch.tensor([[[0, 0]], [[0, 1]]]))
    best.sum().backward()
    assert best.isnan().all()


def gradient_of(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad
