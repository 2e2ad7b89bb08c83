import math

import torch
from torch import nn

from skipstack.models.ground.initialise import initialise
from skipstack.models.ground.parameters import RECURRENT, parameter
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.layers.lookup import Lookup
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.cells.sutskever import SutskeverCell


def lstm(lanes: int, hidden: int = 40) -> LstmCell:
    return LstmCell(LayerSizes(lanes=lanes, directions=2, below=60, hidden=hidden)).double()


def test_weights_have_the_papers_deviation_and_biases_are_zero() -> None:
    cell = lstm(lanes=2)
    initialise(cell, [0, 1], scale=0.1)
    expected = 0.1 / math.sqrt(60)
    assert abs(float(cell.below.detach().std()) / expected - 1) < 0.03
    assert abs(float(cell.below.detach().mean())) < expected / 20
    assert not cell.bias.detach().any()


def test_recurrent_blocks_are_orthogonal_one_a_gate() -> None:
    cell = lstm(lanes=1)
    initialise(cell, [3], scale=0.1)
    for direction in cell.recurrent.detach()[0]:
        for block in direction.split(40, dim=-1):
            assert torch.allclose(block.T @ block, torch.eye(40, dtype=torch.float64), atol=1e-12)


def test_the_lectures_lstm_has_an_orthogonal_block_for_each_of_its_two_links_and_five_gates() -> None:
    cell = SutskeverCell(LayerSizes(lanes=1, directions=2, below=6, hidden=8)).double()
    initialise(cell, [3], scale=0.1)
    blocks = [block for link in cell.recurrent.detach().flatten(0, 2) for block in link.split(8, dim=-1)]
    assert len(blocks) == 2 * 2 * 5
    for block in blocks:
        assert torch.allclose(block.T @ block, torch.eye(8, dtype=torch.float64), atol=1e-12)
    assert not torch.equal(blocks[0], blocks[5])


def test_every_orthogonal_matrix_is_as_likely_as_every_other() -> None:
    """The moments of the uniform distribution over 3 x 3 ones: of an entry, of the trace, and of the determinant."""
    many = nn.Module()
    many.matrices = parameter(1, 20_000, 3, 3, role=RECURRENT)
    initialise(many.double(), [1], scale=1.0)
    block = many.matrices.detach()[0]
    own_error = len(block) ** -0.5
    trace, determinant = block.diagonal(dim1=-2, dim2=-1).sum(dim=-1), torch.linalg.det(block)
    assert block.mean(dim=0).abs().max() < 4 * own_error / 3**0.5
    assert (block.square().mean(dim=0) - 1 / 3).abs().max() < 4 * own_error * (3 / 15 - 1 / 9) ** 0.5
    assert abs(float(determinant.mean())) < 4 * own_error
    assert abs(float(trace.square().mean()) - 1) < 4 * own_error * 2**0.5
    fourth = float((block[:, 0, 0].square() * block[:, 1, 1].square()).mean())
    assert abs(fourth - 2 / 15) < 4 * own_error * 0.2  # E q_11^2 q_22^2 = (n + 1) / (n (n - 1) (n + 2))


def test_a_lane_starts_as_the_solo_run_with_its_seed_and_unlike_its_neighbour() -> None:
    fused, solo = lstm(lanes=3), lstm(lanes=1)
    initialise(fused, [7, 8, 9], scale=0.1)
    initialise(solo, [8], scale=0.1)
    for together, alone in zip(fused.parameters(), solo.parameters(), strict=True):
        assert torch.equal(together[1], alone[0])
    assert not torch.equal(fused.below[0], fused.below[1])


def test_single_precision_starts_at_the_rounded_double_values() -> None:
    double, single = lstm(lanes=1), lstm(lanes=1).float()
    initialise(double, [4], scale=0.1)
    initialise(single, [4], scale=0.1)
    assert torch.equal(double.below.detach().float(), single.below.detach())


def test_a_lookup_table_is_scaled_by_its_width() -> None:
    table = Lookup(1, 500, 25).double()
    initialise(table, [0], scale=1.0)
    assert abs(float(table.table.detach().std()) * 5 - 1) < 0.03


def test_a_spread_makes_weights_and_vectors_uniform_and_leaves_biases_at_zero() -> None:
    cell = lstm(lanes=2, hidden=60)
    initialise(cell, [1, 2], scale=9.0, spread=0.05)
    assert not cell.bias.any()
    for weights in (cell.below, cell.recurrent):
        assert weights.abs().max() <= 0.05
        assert abs(weights.std().item() - 0.05 / 3**0.5) < 5e-4
        assert not torch.equal(weights[0], weights[1])
