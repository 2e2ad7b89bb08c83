"""Who gives indices to compiled code looks at them first, where the environment asks for it, as it does in tests."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from skipstack.models.configs.inputs import CharacterCnnConfig, EmbedderConfig
from skipstack.models.ground.precision import FEW_ROWS
from skipstack.models.kernels import bounds
from skipstack.models.kernels.bounds import in_range
from skipstack.models.kernels.layers import Weights, layer_both_ways
from skipstack.models.kernels.products import product
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.kernels.rows import LookUp, gradient_rows
from skipstack.models.layers.lanes import Lane, Streams
from skipstack.models.networks.build import build_embedder
from skipstack.models.networks.stack import BOTH_WAYS
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.heads.softmax import SoftmaxHead
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.inputs.characters import CharacterCnn
from tests.models.kernels.beside import cell_of
from tests.models.kernels.chosen import chosen

ROWS = 4
"""Rows of a table, characters, tags to choose from, or steps of a batch."""


def word(row: int) -> None:
    embedder = build_embedder(
        EmbedderConfig(word_size=2, capital_size=0, affix_characters=0, window=0),
        words=ROWS,
        characters=ROWS,
        classes=ROWS,
        lanes=[Lane(seed=1)],
        streams=Streams([1], "dropout", torch.device("cpu")),
    )
    ids_F = torch.tensor([0, row])
    embedder(torch.ones(1, 1, 1, dtype=torch.int64), LexiconTensors(ids_F, *[ids_F] * 5))


def character(row: int) -> None:
    CharacterCnn(1, ROWS, CharacterCnnConfig(size=2, filters=3))(torch.tensor([[[1, row]]]))


def gold(row: int) -> None:
    head, one = SoftmaxHead(lanes=1, features=2, tags=ROWS), torch.ones(1, 1, dtype=torch.int64)
    head.loss(torch.zeros(1, 1, 1, 2), Gold(torch.full((1, 1, 1), row)), one)


def length(row: int) -> None:
    ReadingOrder(torch.tensor([[row]]), ROWS - 1).turned(torch.zeros(1, ROWS - 1, 1, 2))


def row_of_a_gradient(row: int) -> None:
    table_RVE = nn.Parameter(torch.zeros(1, ROWS, 2))
    LookUp.apply(table_RVE, torch.tensor([[0]])).sum().backward()  # type: ignore[no-untyped-call]
    assert table_RVE.grad is not None
    table_RVE.grad = torch.sparse_coo_tensor(
        torch.tensor([[0, 0], [1, row]]), torch.ones(2, 2), table_RVE.shape, check_invariants=False
    )
    gradient_rows(table_RVE)


@pytest.mark.parametrize(
    ("given", "least"), [(word, 0), (character, 0), (gold, -1), (length, 0), (row_of_a_gradient, 0)]
)
def test_an_index_beyond_what_there_is_does_not_reach_compiled_code(given: Callable[[int], None], least: int) -> None:
    with chosen("compiled"):
        for row in (max(least, 1), ROWS - 1):
            given(row)
        for row in (least - 1, -ROWS, ROWS, 10**8):
            with pytest.raises(AssertionError):
                given(row)


@pytest.mark.parametrize(
    ("indices", "all_in"), [([0, 2], True), ([], True), ([-1], False), ([3], False), ([0, 9, 0], False)]
)
def test_a_range_has_its_first_number_and_not_its_last(indices: list[int], all_in: bool) -> None:
    assert in_range(torch.tensor(indices, dtype=torch.int64), 0, 3) is all_in


def test_without_the_environment_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(bounds.ASSERTED)
    bounds.asserted.cache_clear()
    try:
        assert in_range(Tensor([9]), 0, 3)
    finally:
        bounds.asserted.cache_clear()


def both_ways(size: int) -> None:
    weights = Weights(torch.zeros(1, 2, 3, 8), torch.zeros(1, 2, 8), torch.zeros(1, 2, 2, 8))
    layer_both_ways("lstm", torch.zeros(1, 4, 1, size), torch.full((1, 1), 4), weights, None)


def rows_of_a_product(size: int) -> None:
    product(torch.zeros(1, 2 * FEW_ROWS, size), torch.zeros(1, 3, 5))


def features(size: int) -> None:
    head, one = SoftmaxHead(lanes=1, features=3, tags=ROWS), torch.ones(1, 1, dtype=torch.int64)
    head.loss(torch.zeros(1, 1, 1, size), Gold(torch.zeros((1, 1, 1), dtype=torch.int64)), one)


def steps(size: int) -> None:
    ReadingOrder(torch.tensor([[3]]), 3).turned(torch.zeros(1, size, 1, 2))


def layer(kind: str) -> Callable[[int], object]:
    """Runs a layer that reads three features over as many as it is given."""
    return lambda size: cell_of(kind, lanes=1, hidden=2).run(torch.zeros(2, 4, 1, size))


LAYERS = [pytest.param(layer(kind), id=kind) for kind in BOTH_WAYS.values()]


@pytest.mark.parametrize("given", [*LAYERS, both_ways, rows_of_a_product, features, steps])
def test_a_shape_that_weights_do_not_have_is_refused_before_compiled_code(given: Callable[[int], object]) -> None:
    """Compiled code took 2 or 4 numbers a row for 3, from whatever stands beside them; torch's operations refuse."""
    with chosen("compiled"):
        given(3)
        for size in (2, 4):
            with pytest.raises(ValueError, match=r"got a tensor of \("):
                given(size)


@pytest.mark.slow
def test_numba_looks_at_every_index_where_it_is_asked_to() -> None:
    """``NUMBA_BOUNDSCHECK=1`` works with the options that we compile with: the kernels' tests can run under it."""
    program = """
import numpy as np
from skipstack.models.kernels.compiled.inputs.lookups import add_rows

for row in (2, 3):
    add_rows(np.ones((1, 2)), np.array([[[[row]]]]), np.zeros((3, 2)))
    print("added to", row)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "added to 2\n"), done.stderr
    assert "index is out of bounds" in done.stderr


@pytest.mark.slow
def test_no_index_is_out_of_bounds_for_a_gate_that_is_drawn_and_learns_nothing(tmp_path: Path) -> None:
    """The gradient of such a gate is not wanted, and was written all the same: behind an array without elements."""
    program = """
from tests.models.kernels.chosen import chosen
from tests.models.parts.cells.test_cells import cell_of, inputs, outputs_of

case = "both_highway", "bernoulli"
with chosen("compiled"):
    outputs_of(cell_of(case), *inputs(case)).sum().backward()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
