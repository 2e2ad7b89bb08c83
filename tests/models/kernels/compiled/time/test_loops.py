"""The compiled layers beside the loops of torch's operations, which define them."""

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.configs.cells import CellKind
from skipstack.models.ground.precision import products_in
from skipstack.models.kernels import abilities
from skipstack.models.kernels.choice import Kernels, choose, watched
from skipstack.models.kernels.compiled.time.loops import CompiledBlock, CompiledLstm
from skipstack.models.kernels.layers import Weights, block_layer, lstm_layer
from skipstack.models.kernels.reference.block_loop import BlockLoop
from skipstack.models.kernels.reference.shortcut_loop import ShortcutLoop
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.parts.cells.build import build_cell
from tests.models.kernels.beside import both, layer_of, passes
from tests.models.kernels.chosen import chosen, without

SIZES = st.tuples(*(st.integers(1, most) for most in (2, 4, 5, 20)))
"""Lanes, steps, sentences and hidden units: rows of less than, and more than, what a CPU computes at once."""
FLOAT = torch.float32
PARTS = st.lists(st.booleans(), min_size=5, max_size=5)
"""Which of the three parts of a skip there are, whether there is a first state, and whether what is below learns."""


@pytest.mark.parametrize(
    ("layer", "defined", "gates"), [(CompiledLstm, ShortcutLoop, 4), (CompiledBlock, BlockLoop, 3)]
)
@given(sizes=SIZES, present=PARTS, apart=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_compiled_layers_give_what_the_loops_of_torch_give(
    layer: Any, defined: Any, gates: int, sizes: tuple[int, ...], present: list[bool], apart: bool, seed: int
) -> None:
    ours, theirs = both(layer.apply, layer_of(defined.apply), gates, sizes, present, apart=apart, seed=seed)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


CELLS: Final[tuple[CellKind, ...]] = "gru", "min_gru", "min_lstm"


def cell_passes(kind: CellKind, kernels: Kernels, sizes: tuple[int, ...], started: bool, seed: int, dtype: Any) -> Any:
    """What a cell puts out, its last state, and the gradients of what is below and of its weights."""
    lanes, steps, sentences, hidden = sizes
    streams = Streams(range(lanes), "dropout", torch.device("cpu"))
    cell = build_cell(kind, LayerSizes(lanes=lanes, directions=2, below=hidden + 1, hidden=hidden), streams).to(dtype)
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    for parameter in cell.parameters():
        parameter.data = drawn(*parameter.shape)
    below_GTBI = drawn(2 * lanes, steps, sentences, hidden + 1).requires_grad_()
    start_GBH = drawn(2 * lanes, sentences, hidden) if started else None
    above_GTBH = drawn(2 * lanes, steps, sentences, hidden)
    with chosen(kernels):
        unrolled = cell.run(below_GTBI, None, start_GBH)
        asked = [below_GTBI, *cell.parameters()]
        return [unrolled.output_GTBF, unrolled.last, *torch.autograd.grad(unrolled.output_GTBF, asked, above_GTBH)]


@pytest.mark.parametrize("kind", CELLS)
@given(sizes=SIZES, started=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_compiled_cells_give_what_their_steps_in_torch_give(
    kind: CellKind, sizes: tuple[int, ...], started: bool, seed: int
) -> None:
    ours, theirs = (cell_passes(kind, each, sizes, started, seed, torch.float64) for each in ("compiled", "reference"))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.first(1)
@pytest.mark.skipif(abilities.no_bfloat16() is not None, reason=str(abilities.no_bfloat16()))
@pytest.mark.parametrize("kind", CELLS)
def test_compiled_cells_sum_up_products_of_rounded_factors_in_bfloat16(
    kind: CellKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As their steps in torch do where what is summed up is not rounded once more; but there, the gradients of a GRU's
    products are rounded in another place.
    """
    sizes, rows = (2, 30, 17, 20), torch.bmm
    exact = cell_passes(kind, "compiled", sizes, True, 1, FLOAT)
    monkeypatch.setattr(torch, "bmm", lambda x, y: rows(x.float(), y.float()))
    with products_in("bfloat16"):
        ours, theirs = (cell_passes(kind, each, sizes, True, 1, FLOAT) for each in ("compiled", "reference"))
    for number, (one, other, unrounded) in enumerate(zip(ours, theirs, exact, strict=True)):
        assert (one - other).norm() < (0.02 if kind == "gru" and number > 1 else 2e-3) * other.norm()
        assert (one - unrounded).norm() > 5e-4 * other.norm()


def below_and_weights(gates: int) -> list[Tensor]:
    """In float32, of two directions, and of so many sentences that products are rounded where that is asked for."""
    generator = torch.Generator().manual_seed(gates)
    shapes = (2, 6, 17, 5), (1, 2, 5, gates * 9), (1, 2, gates * 9), (1, 2, 9, gates * 9)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def layer(run: Callable[..., Any]) -> Callable[..., Any]:
    """The output, and a last state, of a layer that is given its weights one by one."""
    return lambda below, *others: run(below, Weights(*others[:3]), *others[3:])[: 2 if run is lstm_layer else 1]


@pytest.mark.skipif(abilities.no_bfloat16() is not None, reason=str(abilities.no_bfloat16()))
@pytest.mark.parametrize(
    ("layer", "defined", "gates"), [(CompiledLstm, ShortcutLoop, 4), (CompiledBlock, BlockLoop, 3)]
)
@pytest.mark.first(2)
@pytest.mark.parametrize("sentences", [17, 3])
def test_in_bfloat16_they_sum_up_products_of_rounded_factors(
    layer: Any, defined: Any, gates: int, sentences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the loops of torch do where what it sums up is not rounded once more; of few sentences, steps are exact."""
    sizes, present, rows = (2, 30, sentences, 20), [True, True, True, True, True], torch.bmm
    with chosen("reference"):
        exact, _ = both(layer.apply, layer_of(defined.apply), gates, sizes, present, apart=False, seed=1, dtype=FLOAT)
    monkeypatch.setattr(torch, "bmm", lambda x, y: rows(x.float(), y.float()))
    with products_in("bfloat16"), chosen("reference"):
        ours, theirs = both(
            layer.apply, layer_of(defined.apply), gates, sizes, present, apart=False, seed=1, dtype=FLOAT
        )
    for one, other, unrounded in zip(ours, theirs, exact, strict=True):
        # A sum in another order now and then rounds the next factor the other way.
        assert (one - other).norm() < 2e-4 * other.norm()
        assert (one - unrounded).norm() > 5e-4 * other.norm()


RUNS: list[tuple[Callable[..., Any], Any, int]] = [(lstm_layer, ShortcutLoop, 4), (block_layer, BlockLoop, 3)]


@pytest.mark.parametrize(("run", "defined", "gates"), RUNS)
def test_where_the_cpu_does_not_multiply_so_or_there_is_no_numba_the_loops_of_torch_run(
    run: Callable[..., Any], defined: Any, gates: int
) -> None:
    name = "lstm" if run is lstm_layer else "block"
    numbers, above_GTBH = below_and_weights(gates), torch.ones(2, 6, 17, 9)
    absent: list[Tensor | None] = [None] * 4

    def both_of_them() -> list[list[Tensor]]:
        assert choose(name, numbers[0]) == "reference"
        return [
            passes(layer(run), [*numbers, *[None] * 4], above_GTBH),
            passes(layer_of(defined.apply), [*numbers, *absent], above_GTBH),
        ]

    found = []
    with chosen(None):
        assert choose(name, numbers[0]) == "compiled"
        with watched():
            found.append(both_of_them())
            assert run(numbers[0], Weights(*numbers[1:]))[-1] is not None
    with without("bfloat16"), products_in("bfloat16"):
        found.append(both_of_them())
    with without("compiler"):
        found.append(both_of_them())
    for ours, theirs in found:
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("run", "defined", "gates"), RUNS)
def test_one_direction_alone_gives_what_it_gives_beside_the_other(
    run: Callable[..., Any], defined: Any, gates: int
) -> None:
    below_GTBI, *weights = below_and_weights(gates)
    with chosen("compiled"):
        together_GTBH, *_ = run(below_GTBI, Weights(*weights))
        second_GTBH, *_ = run(below_GTBI[1:], Weights(*(each[:, 1:] for each in weights)))
    assert torch.equal(together_GTBH[1:], second_GTBH)


def test_numbers_that_are_none_come_out_again() -> None:
    below_GTBI, *weights = below_and_weights(4)
    with torch.no_grad(), chosen("compiled"):
        below_GTBI[0, 2, 3, 4] = torch.nan
        h_GTBH, *_ = lstm_layer(below_GTBI, Weights(*weights))
    assert h_GTBH[0, :2].isfinite().all()
    assert h_GTBH[0, 3:, 3].isnan().all()
    assert h_GTBH[1].isfinite().all()
