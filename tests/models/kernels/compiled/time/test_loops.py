"""The compiled layers beside the loops of their cells' steps, which define them."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.ground.precision import products_in
from skipstack.models.kernels import abilities
from skipstack.models.kernels.choice import watched
from skipstack.models.kernels.layers import Weights, block_layer, lstm_layer
from skipstack.models.layers import recurrence
from tests.models.kernels.beside import RECURRENT, cell_of, drawn, passes
from tests.models.kernels.chosen import chosen, without

SIZES = st.tuples(*(st.integers(1, most) for most in (2, 4, 5, 20)))
"""Lanes, steps, sentences and hidden units: rows of less than, and more than, what a CPU computes at once."""


@pytest.mark.first(4)
@pytest.mark.parametrize("kind", RECURRENT)
@given(sizes=SIZES, started=st.booleans(), learns=st.booleans(), apart=st.booleans(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_compiled_layers_give_what_the_loops_of_their_steps_give(
    kind: str, sizes: tuple[int, ...], started: bool, learns: bool, apart: bool, seed: int
) -> None:
    ours, theirs = (
        passes(kind, each, sizes, started=started, learns=learns, apart=apart, seed=seed)
        for each in ("compiled", "reference")
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


class Rounded(torch.autograd.Function):
    """A product of factors in bfloat16, also backward, summed up in float32 and left so."""

    @staticmethod
    def forward(ctx: Any, h_GBF: Tensor, weight_GFX: Tensor) -> Tensor:
        ctx.save_for_backward(weight_GFX)
        return torch.bmm(h_GBF.bfloat16().float(), weight_GFX.float())

    @staticmethod
    def backward(ctx: Any, *above: Any) -> Any:
        (weight_GFX,) = ctx.saved_tensors
        return torch.bmm(above[0].bfloat16().float(), weight_GFX.float().transpose(1, 2)), None


@pytest.mark.first(3)
@pytest.mark.skipif(abilities.no_bfloat16() is not None, reason=str(abilities.no_bfloat16()))
@pytest.mark.parametrize(
    "kind", ["lstm", "both_highway", "block", "gru", "min_gru", "min_lstm", "both_highway updated"]
)
@pytest.mark.parametrize("sentences", [17, 3])
def test_in_bfloat16_they_sum_up_products_of_rounded_factors(
    kind: str, sentences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As their steps in torch do where what is summed up is not rounded once more; of few sentences, steps are exact.
    But in torch, the gradients of a GRU's products are rounded in another place.
    """
    sizes, rows, plus = (2, 30, sentences, 20), torch.bmm, recurrence.plus_product

    def plus_rounded(x_GBX: Tensor, h_GBH: Tensor, step_GHX: Tensor) -> Tensor:
        if step_GHX.dtype is not torch.bfloat16:
            return plus(x_GBX, h_GBH, step_GHX)
        product_GBX: Tensor = Rounded.apply(h_GBH, step_GHX)  # type: ignore[no-untyped-call]
        return x_GBX + product_GBX

    def found(kernels: Any) -> list[Tensor]:
        return passes(kind, kernels, sizes, started=True, seed=1, dtype=torch.float32)

    exact = found("compiled")
    monkeypatch.setattr(torch, "bmm", lambda x, y: rows(x.float(), y.float()))
    monkeypatch.setattr(recurrence, "plus_product", plus_rounded)
    with products_in("bfloat16"):
        ours, theirs = found("compiled"), found("reference")
    for number, (one, other, unrounded) in enumerate(zip(ours, theirs, exact, strict=True)):
        # A sum in another order now and then rounds the next factor the other way.
        assert (one - other).norm() < (0.02 if kind == "gru" and number > 1 else 2e-3) * other.norm()
        assert (one - unrounded).norm() > 5e-4 * other.norm()


@pytest.mark.parametrize("kind", ["lstm", "block", "gru"])
def test_where_the_cpu_does_not_multiply_so_or_there_is_no_numba_or_layers_are_inspected_the_steps_run(
    kind: str,
) -> None:
    cell, generator = cell_of(kind, 1, 9).float(), torch.Generator().manual_seed(1)
    for parameter in cell.parameters():
        parameter.data = drawn(generator, *parameter.shape, dtype=torch.float32).detach()
    below_GTBI, *skipped_GTBH = (drawn(generator, 2, 6, 17, size, dtype=torch.float32) for size in (10, 9))
    given = below_GTBI, skipped_GTBH[0] if kind == "block" else None

    def of_steps() -> bool:
        return cell.run(*given).states is not None

    with chosen(None):
        assert not of_steps()
        with watched():
            assert of_steps()
            assert cell.run(*given).pre_GTBX is not None
    with without("bfloat16"), products_in("bfloat16"):
        assert of_steps()
    with without("compiler"):
        assert of_steps()


def below_and_weights(gates: int) -> list[Tensor]:
    """In float32, of two directions, and of so many sentences that products are rounded where that is asked for."""
    generator = torch.Generator().manual_seed(gates)
    shapes = (2, 6, 17, 5), (1, 2, 5, gates * 9), (1, 2, gates * 9), (1, 2, 9, gates * 9)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


@pytest.mark.parametrize(("run", "gates"), [(lstm_layer, 4), (block_layer, 3)])
def test_one_direction_alone_gives_what_it_gives_beside_the_other(run: Any, gates: int) -> None:
    below_GTBI, *weights = below_and_weights(gates)
    with chosen("compiled"):
        both = run(below_GTBI, Weights(*weights))
        second = run(below_GTBI[1:], Weights(*(each[:, 1:] for each in weights)))
    both_GTBH, second_GTBH = (each if gates == 3 else each[0] for each in (both, second))
    assert torch.equal(both_GTBH[1:], second_GTBH)


def test_numbers_that_are_none_come_out_again() -> None:
    below_GTBI, *weights = below_and_weights(4)
    with torch.no_grad(), chosen("compiled"):
        below_GTBI[0, 2, 3, 4] = torch.nan
        found = lstm_layer(below_GTBI, Weights(*weights))
    assert found is not None
    h_GTBH, _ = found
    assert h_GTBH[0, :2].isfinite().all()
    assert h_GTBH[0, 3:, 3].isnan().all()
    assert h_GTBH[1].isfinite().all()
