"""The compiled orders of reading beside those of torch's operations, which define them."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.kernels.compiled.time.moves import WAYS
from skipstack.models.kernels.reading import ReadingOrder
from tests.models.kernels.chosen import chosen


def passes(way: str, x_GTBF: Tensor, lengths_RB: Tensor, source: torch.Generator, *, drops: bool) -> list[Tensor]:
    """What comes out, and the gradient of random numbers that come back."""
    kept = [torch.rand(x_GTBF.shape, generator=source, dtype=x_GTBF.dtype)] if drops else []
    out = getattr(ReadingOrder(lengths_RB, x_GTBF.shape[1]), way)(x_GTBF, *kept)
    return [out, *torch.autograd.grad(out, x_GTBF, torch.randn(out.shape, generator=source, dtype=out.dtype))]


@pytest.mark.first(2)
@pytest.mark.parametrize(("way", "drops"), [*((way, False) for way in WAYS), ("together", True)])
@given(sizes=st.tuples(*(st.integers(1, most) for most in (3, 5, 4, 9))), seed=st.integers(0, 2**32 - 1))
def test_rows_and_gradients_go_where_they_go_by_the_operations_of_torch(
    way: str, drops: bool, sizes: tuple[int, ...], seed: int
) -> None:
    lanes, steps, sentences, width = sizes
    source = torch.Generator().manual_seed(seed)
    shape: Any = lanes * WAYS[way].taken, steps, sentences, width
    x_GTBF = torch.randn(shape, generator=source, dtype=torch.float64).requires_grad_()
    lengths_RB = torch.randint(0, steps + 1, (lanes, sentences), generator=source)
    state = source.get_state()
    with chosen("compiled"):
        ours = passes(way, x_GTBF, lengths_RB, source, drops=drops)
    with chosen("reference"):
        theirs = passes(way, x_GTBF, lengths_RB, source.set_state(state), drops=drops)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-15, atol=1e-15)
