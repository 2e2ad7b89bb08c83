"""The compiled loops beside those of torch's operations, which define them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.products import in_bfloat16
from skipstack.models.time import loops
from skipstack.models.time.block_loop import BlockLoop
from skipstack.models.time.compiled import loops as compiled_loops
from skipstack.models.time.compiled import products
from skipstack.models.time.loops import block_loop, compiles, lstm_loop
from skipstack.models.time.lstm_loop import LstmLoop
from skipstack.models.time.shortcut_loop import ShortcutLoop
from skipstack.models.time.whole_loops import WholeBlock, WholeLstm
from tests.models.time.beside import both, passes

SIZES = st.tuples(*(st.integers(1, most) for most in (3, 4, 5, 20)))
"""Groups, steps, sentences and hidden units: rows of less than, and more than, what a CPU computes at once."""
PARTS = st.lists(st.booleans(), min_size=4, max_size=4)
"""Which of the three parts of a skip there are, and whether there is a first state."""


@pytest.mark.parametrize(
    ("compiled", "defined", "gates"),
    [
        (partial(WholeLstm.apply, compiled_loops.LSTM), ShortcutLoop.apply, 4),
        (partial(WholeBlock.apply, compiled_loops.BLOCK), BlockLoop.apply, 3),
    ],
)
@given(sizes=SIZES, present=PARTS, apart=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_compiled_loops_give_what_the_loops_of_torch_give(
    compiled: Any, defined: Any, gates: int, sizes: tuple[int, ...], present: list[bool], apart: bool, seed: int
) -> None:
    ours, theirs = both(compiled, defined, gates, sizes, present, apart=apart, seed=seed)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def pre_and_weight(gates: int) -> tuple[Tensor, Tensor]:
    """In float32, of two groups, and of so many sentences that products are rounded where that is asked for."""
    generator = torch.Generator().manual_seed(gates)
    shapes = (2, 6, 17, gates * 9), (2, 9, gates * 9)
    pre_GTBX, weight_GHX = (torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)
    return pre_GTBX, weight_GHX


CHOSEN: list[tuple[Callable[..., Any], Any, int]] = [(lstm_loop, LstmLoop, 4), (block_loop, BlockLoop, 3)]


@pytest.mark.parametrize(("chosen", "defined", "gates"), CHOSEN)
def test_in_bfloat16_and_without_a_blas_or_numba_the_loops_of_torch_run(
    chosen: Callable[..., Any], defined: Any, gates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, above_GTBH = pre_and_weight(gates), torch.ones(2, 6, 17, 9)
    absent: list[Tensor | None] = [None] * (1 if defined is LstmLoop else 4)

    def chosen_and_defined() -> list[list[Tensor]]:
        assert not compiles(numbers[0])
        return [
            passes(chosen, [*numbers, *[None] * 4], above_GTBH), passes(defined.apply, [*numbers, *absent], above_GTBH)
        ]  # fmt: skip

    assert compiles(numbers[0])
    with in_bfloat16(True):
        rounded = chosen_and_defined()
    with monkeypatch.context() as patch:
        patch.setattr(products, "AVAILABLE", False)
        without_blas = chosen_and_defined()
    monkeypatch.setattr(loops, "HAS_NUMBA", False)
    for ours, theirs in (rounded, without_blas, chosen_and_defined()):
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("chosen", "defined", "gates"), CHOSEN)
def test_one_group_alone_gives_what_it_gives_beside_others(
    chosen: Callable[..., Any], defined: Any, gates: int
) -> None:
    pre_GTBX, weight_GHX = pre_and_weight(gates)
    together, second = chosen(pre_GTBX, weight_GHX), chosen(pre_GTBX[1:], weight_GHX[1:])
    together_GTBH, second_GTBH = (each if isinstance(each, Tensor) else each[0] for each in (together, second))
    assert torch.equal(together_GTBH[1:], second_GTBH)


def test_numbers_that_are_none_come_out_again() -> None:
    pre_GTBX, weight_GHX = pre_and_weight(4)
    with torch.no_grad():
        pre_GTBX[0, 2, 3, 5] = torch.nan
        h_GTBH, _ = lstm_loop(pre_GTBX, weight_GHX)
    assert h_GTBH[0, :2].isfinite().all()
    assert h_GTBH[0, 3:, 3].isnan().all()
    assert h_GTBH[1].isfinite().all()
