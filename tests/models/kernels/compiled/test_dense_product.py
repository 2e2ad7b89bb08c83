"""The compiled product with a bias beside the one of torch's operations, which defines it."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.ground.precision import FEW_ROWS
from skipstack.models.kernels.products import product
from tests.models.kernels.chosen import chosen

SIZES = st.tuples(st.integers(1, 3), st.integers(FEW_ROWS, FEW_ROWS + 20), st.integers(1, 40), st.integers(1, 40))
"""Batches, rows, and numbers of a row before and after."""


def passes(given_: list[Tensor], above_GNO: Tensor) -> list[Tensor]:
    """The product, and the gradients of what asks for one."""
    y_GNO = product(*given_)
    asked = [each for each in given_ if each.requires_grad]
    return [y_GNO, *(torch.autograd.grad(y_GNO, asked, above_GNO) if asked else [])]


@given(sizes=SIZES, asked=st.lists(st.booleans(), min_size=2, max_size=3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_it_gives_what_the_operations_of_torch_give(sizes: tuple[int, ...], asked: list[bool], seed: int) -> None:
    batches, rows, before, after = sizes
    generator = torch.Generator().manual_seed(seed)
    shapes = (batches, rows, before), (batches, before, after), (batches, 1, after), (batches, rows, after)
    *numbers, above_GNO = (torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes)
    some = [each.requires_grad_(learns) for each, learns in zip(numbers, asked, strict=False)]
    with chosen("compiled"):
        ours = passes(some, above_GNO)
    with chosen("reference"):
        theirs = passes(some, above_GNO)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
