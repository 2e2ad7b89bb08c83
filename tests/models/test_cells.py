"""Each cell and gate against its numpy twin: random weights, float64, 1e-10, forward and gradient."""

from typing import get_args

import numpy as np
import pytest
import torch

from models.cells.base import Cell
from models.cells.lstm import LstmCell
from models.cells.shortcut import Gate, ShortcutBlock
from models.unroll import unroll
from tests.oracles import networks

LANES, DIRECTIONS, STEPS, SENTENCES, BELOW, HIDDEN = 3, 2, 5, 2, 4, 3
GATES = ("none", "sigmoid_below", "sigmoid_below_previous")
CASES = ["lstm", *GATES]


def cell_of(case: str) -> Cell:
    sizes = {"lanes": LANES, "directions": DIRECTIONS, "below": BELOW, "hidden": HIDDEN}
    cell: Cell = LstmCell(**sizes) if case == "lstm" else ShortcutBlock(**sizes, gate=case)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(5)
    for parameter in cell.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return cell


def inputs(case: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    generator = torch.Generator().manual_seed(6)
    shape = (LANES * DIRECTIONS, STEPS, SENTENCES)
    below = torch.randn(*shape, BELOW, generator=generator, dtype=torch.float64)
    skipped = torch.randn(*shape, HIDDEN, generator=generator, dtype=torch.float64)
    return below, None if case == "lstm" else skipped


def twin(case: str, cell: Cell, below: torch.Tensor, skipped: torch.Tensor | None) -> np.ndarray:
    outputs = np.empty((LANES * DIRECTIONS, STEPS, SENTENCES, HIDDEN))
    for group in range(LANES * DIRECTIONS):
        weights = {name: p.detach().flatten(0, 1)[group].numpy() for name, p in cell.named_parameters()}
        for sentence in range(SENTENCES):
            x = list(below[group, :, sentence].numpy())
            if skipped is None:
                layer = networks.lstm_layer(x, weights)
            else:
                layer = networks.shortcut_layer(x, list(skipped[group, :, sentence].numpy()), weights, case)
            outputs[group, :, sentence] = layer
    return outputs


def test_every_gate_has_a_twin() -> None:
    assert get_args(Gate) == GATES


@pytest.mark.parametrize("case", CASES)
def test_a_cell_equals_its_twin_in_every_lane_and_direction(case: str) -> None:
    cell, (below, skipped) = cell_of(case), inputs(case)
    ours = unroll(cell, below, skipped).detach().numpy()
    assert np.abs(ours - twin(case, cell, below, skipped)).max() < 1e-10


@pytest.mark.parametrize("case", CASES)
def test_a_cells_gradients_equal_central_differences_of_its_twin(case: str) -> None:
    cell, (below, skipped) = cell_of(case), inputs(case)
    weight = torch.randn(
        unroll(cell, below, skipped).shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7)
    )
    (unroll(cell, below, skipped) * weight).sum().backward()
    step = 1e-6
    rng = np.random.default_rng(8)
    for parameter in cell.parameters():
        assert parameter.grad is not None
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for index in rng.choice(len(flat), size=6, replace=False):
            values = []
            for sign in (1, -1):
                flat[index] += sign * step
                values.append(float((twin(case, cell, below, skipped) * weight.numpy()).sum()))
                flat[index] -= sign * step
            assert abs((values[0] - values[1]) / (2 * step) - float(gradient[index])) < 1e-7


@pytest.mark.parametrize("gate", GATES)
def test_two_gates_are_never_the_same_function(gate: str) -> None:
    below, skipped = inputs(gate)
    assert skipped is not None
    ours = unroll(cell_of(gate), below, skipped)
    for other in GATES:
        assert torch.equal(ours, unroll(cell_of(other), below, skipped)) == (other == gate)
