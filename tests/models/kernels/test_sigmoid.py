"""The sigmoid, against torch's own; and by its value alone, wherever a number lies."""

import pytest
import torch

from skipstack.models.kernels.sigmoid import sigmoid


def test_it_is_the_sigmoid_and_so_is_its_gradient() -> None:
    x = torch.linspace(-40, 40, 201, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(sigmoid(x), torch.sigmoid(x), rtol=1e-14, atol=0)
    (ours,) = torch.autograd.grad(sigmoid(x).sum(), x)
    (theirs,) = torch.autograd.grad(torch.sigmoid(x).sum(), x)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-300)


def test_far_out_it_ends_at_its_limits() -> None:
    far = torch.tensor([-1e30, -200.0, 200.0, 1e30, -torch.inf, torch.inf])
    assert sigmoid(far).tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    assert sigmoid(torch.tensor(torch.nan)).isnan()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_number_has_one_sigmoid_wherever_it_lies(dtype: torch.dtype) -> None:
    x = torch.randn(400, generator=torch.Generator().manual_seed(0), dtype=dtype) * 3
    whole = sigmoid(x)
    for count in range(1, 130):
        assert torch.equal(sigmoid(x[count : 2 * count].clone()), whole[count : 2 * count])
