"""The compiled loops beside those of torch's operations, which define them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.products import in_bfloat16
from skipstack.models.time import loops
from skipstack.models.time.block_loop import BlockLoop
from skipstack.models.time.compiled import products
from skipstack.models.time.compiled.loops import CompiledBlock, CompiledLstm
from skipstack.models.time.loops import block_loop, compiles, lstm_loop
from skipstack.models.time.lstm_loop import LstmLoop
from skipstack.models.time.shortcut_loop import ShortcutLoop

SIZES = st.tuples(*(st.integers(1, most) for most in (3, 4, 5, 20)))
"""Groups, steps, sentences and hidden units: rows of less than, and more than, what a CPU computes at once."""
PARTS = st.lists(st.booleans(), min_size=4, max_size=4)
"""Which of the three parts of a skip there are, and whether there is a first state."""


def drawn(kind: torch.dtype, *shape: int, apart: bool) -> Tensor:
    """Random numbers; ``apart``: they do not stand row after row."""
    numbers = torch.randn(*shape, dtype=kind)
    return (numbers.transpose(0, -1).contiguous().transpose(0, -1) if apart else numbers).requires_grad_()


def passes(loop: Any, given: list[Tensor | None], above_GTBH: Tensor) -> list[Tensor]:
    """What a loop puts out, and the gradients of what it is given, its last part aside: the first state."""
    found = loop(*given)
    outputs = [found] if isinstance(found, Tensor) else list(found)
    asked = [each for each in given[:-1] if each is not None]
    return [*outputs, *torch.autograd.grad(outputs[0], asked, above_GTBH)]


@pytest.mark.parametrize(
    ("compiled", "defined", "gates"), [(CompiledLstm, ShortcutLoop, 4), (CompiledBlock, BlockLoop, 3)]
)
@given(sizes=SIZES, present=PARTS, apart=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_compiled_loops_give_what_the_loops_of_torch_give(
    compiled: Any, defined: Any, gates: int, sizes: tuple[int, ...], present: list[bool], apart: bool, seed: int
) -> None:
    groups, steps, sentences, hidden = sizes
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        pre_GTBX = drawn(torch.float64, groups, steps, sentences, gates * hidden, apart=apart)
        weight_GHX = drawn(torch.float64, groups, hidden, gates * hidden, apart=apart)
        parts = [drawn(torch.float64, groups, steps, sentences, hidden, apart=apart) for _ in range(3)]
        start = torch.randn(*([2] if gates == 4 else []), groups, sentences, hidden, dtype=torch.float64)
        optional = [part if there else None for part, there in zip([*parts, start], present, strict=True)]
        given = [pre_GTBX, weight_GHX, *optional]
        above_GTBH = torch.randn(groups, steps, sentences, hidden, dtype=torch.float64)
    pre_before = pre_GTBX.clone()
    ours, theirs = (passes(loop.apply, given, above_GTBH) for loop in (compiled, defined))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    assert torch.equal(pre_GTBX, pre_before)


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

    def both() -> list[list[Tensor]]:
        assert not compiles(numbers[0])
        return [
            passes(chosen, [*numbers, *[None] * 4], above_GTBH), passes(defined.apply, [*numbers, *absent], above_GTBH)
        ]  # fmt: skip

    assert compiles(numbers[0])
    with in_bfloat16(True):
        rounded = both()
    with monkeypatch.context() as patch:
        patch.setattr(products, "AVAILABLE", False)
        without_blas = both()
    monkeypatch.setattr(loops, "HAS_NUMBA", False)
    for ours, theirs in (rounded, without_blas, both()):
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("chosen", "defined", "gates"), CHOSEN)
def test_one_group_alone_gives_what_it_gives_beside_others(
    chosen: Callable[..., Any], defined: Any, gates: int
) -> None:
    pre_GTBX, weight_GHX = pre_and_weight(gates)
    both, second = chosen(pre_GTBX, weight_GHX), chosen(pre_GTBX[1:], weight_GHX[1:])
    both_GTBH, second_GTBH = (each if isinstance(each, Tensor) else each[0] for each in (both, second))
    assert torch.equal(both_GTBH[1:], second_GTBH)


def test_numbers_that_are_none_come_out_again() -> None:
    pre_GTBX, weight_GHX = pre_and_weight(4)
    with torch.no_grad():
        pre_GTBX[0, 2, 3, 5] = torch.nan
        h_GTBH, _ = lstm_loop(pre_GTBX, weight_GHX)
    assert h_GTBH[0, :2].isfinite().all()
    assert h_GTBH[0, 3:, 3].isnan().all()
    assert h_GTBH[1].isfinite().all()
