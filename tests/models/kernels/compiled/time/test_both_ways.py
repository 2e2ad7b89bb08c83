"""A stack of one layer in both directions, compiled as one function, beside the same in three."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.configs.cells import CellKind
from skipstack.models.configs.model import StackConfig
from skipstack.models.layers.lanes import Dropout, Lane, Streams
from skipstack.models.networks import stack as stacks
from skipstack.models.networks.build import build_stack
from skipstack.models.networks.stack import BOTH_WAYS, Stack
from tests.models.kernels.chosen import chosen

BELOW, HIDDEN = 5, 3


def made(cell: CellKind, lanes: int, dropout: float, seed: int) -> Stack:
    """The same from the same seed, random weights and all."""
    falls = Dropout([dropout] * lanes, Streams(range(lanes), "dropout", torch.device("cpu")))
    config = StackConfig(depth=1, hidden=HIDDEN, composition=0, cell=cell)
    stack = build_stack(config, BELOW, [Lane(seed=lane) for lane in range(lanes)], falls).double()
    source = torch.Generator().manual_seed(seed)
    for each in stack.parameters():
        each.data = torch.randn(each.shape, generator=source, dtype=torch.float64)
    return stack


def passes(stack: Stack, x_RTBI: Tensor, lengths_RB: Tensor, source: torch.Generator) -> list[Tensor]:
    """What comes out, and the gradients of random numbers that come back."""
    out = stack(x_RTBI, lengths_RB)
    above = torch.randn(out.shape, generator=source, dtype=out.dtype)
    return [out, *torch.autograd.grad(out, [x_RTBI, *stack.parameters()], above)]


@pytest.mark.first(1)
@pytest.mark.parametrize("cell", BOTH_WAYS.values())
@given(
    sizes=st.tuples(*(st.integers(1, most) for most in (3, 5, 4))),
    dropout=st.sampled_from([0.0, 0.4]),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_is_the_same_to_the_last_bit(cell: CellKind, sizes: tuple[int, int, int], dropout: float, seed: int) -> None:
    lanes, steps, sentences = sizes
    source = torch.Generator().manual_seed(seed)
    x_RTBI = torch.randn(lanes, steps, sentences, BELOW, generator=source, dtype=torch.float64).requires_grad_()
    lengths_RB = torch.randint(0, steps + 1, (lanes, sentences), generator=source)
    found, state = [], source.get_state()
    for compiled in (True, False):
        with chosen("compiled"), pytest.MonkeyPatch.context() as patch:
            if compiled:
                patch.delattr(stacks.ReadingOrder, "apart")  # which is then not needed
            else:
                patch.setattr(stacks, "choose", lambda *_: "reference")
            found.append(passes(made(cell, lanes, dropout, seed), x_RTBI, lengths_RB, source.set_state(state)))
    assert all(torch.equal(*each) for each in zip(*found, strict=True))
