"""Each cell, topology and gate against its numpy twin: random weights, float64, 1e-10, forward and gradient."""

from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.models.configs.cells import CellKind, GateKind, ShortcutConfig, Topology
from skipstack.models.ground.kernel_names import Kernels
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.parts.cells.build import build_cell, build_shortcut
from skipstack.models.parts.cells.gates import Gate, LearnedBernoulliGate
from skipstack.models.parts.cells.gru import GruCell
from skipstack.models.parts.cells.minimal import MinimalCell
from skipstack.models.parts.cells.shortcut import ShortcutCell
from tests.models.gradients import equal_central_differences
from tests.models.kernels.chosen import chosen
from tests.oracles import networks

LANES, DIRECTIONS, STEPS, SENTENCES, BELOW, HIDDEN = 2, 2, 4, 2, 4, 3
GROUPS = LANES * DIRECTIONS
CELLS, TOPOLOGIES, GATES = get_args(CellKind), get_args(Topology), get_args(GateKind)
ELSEWHERE = [
    ("hidden_gated", "sigmoid_below_previous"),
    ("hidden_gated", "bernoulli"),
    ("both_ungated", "none"),
    ("both_ungated", "scaled"),
    ("both_gated", "linear"),
    ("both_gated", "none"),
    ("both_highway", "sigmoid_below_previous"),
    ("both_highway", "scaled"),
    ("both_highway", "bernoulli"),
    ("both_highway", "bernoulli_below"),
    ("both_two_gates", "sigmoid_below_previous"),
    ("both_two_gates", "sigmoid_below_earlier"),
    ("both_two_gates", "linear"),
    ("both_highway", "linear_vector"),
    ("both_two_gates", "bernoulli"),
    ("block_output_ungated", "scaled"),
    ("block_internal_ungated", "sigmoid_below_previous"),
    ("block_output_shared", "sigmoid_skipped"),
    ("block_no_internal", "linear"),
    ("block_no_output", "bernoulli_below"),
]
READINGS = [
    *((topology, "sigmoid_below", "updated") for topology in TOPOLOGIES if topology.startswith("both")),
    ("both_highway", "sigmoid_below_previous", "updated"),
    ("both_two_gates", "scaled", "updated"),
    ("both_gated", "linear", "updated"),
    ("hidden_gated", "sigmoid_below", "updated"),
    ("block", "sigmoid_below", "updated"),
]
"""Of the output of a cell state: it is read after the skip has entered it, if the skip does."""
SHORTCUTS = list(dict.fromkeys([*((t, "sigmoid_below") for t in TOPOLOGIES), *(("block", g) for g in GATES)]))
CASES = [*CELLS, *SHORTCUTS, *ELSEWHERE, *READINGS]
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case if isinstance(case, str) else "-".join(case))
Case = str | tuple[str, ...]
"""A cell without a source, or a topology and a gate, and a reading unless it is the usual one."""
PROBABILITY = 0.3


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def streams() -> Streams:
    return Streams(range(LANES), "dropout", torch.device("cpu"))


def outputs_of(layer: Layer, below: Tensor, skipped: Tensor | None) -> Tensor:
    return layer.run(below, skipped).output_GTBF


def cell_of(case: Case) -> Layer:
    sizes = LayerSizes(lanes=LANES, directions=DIRECTIONS, below=BELOW, hidden=HIDDEN)
    if isinstance(case, str):
        cell: Layer = build_cell(case, sizes, streams())  # type: ignore[arg-type]
    else:
        config = dict(zip(("topology", "gate", "cell_output"), case, strict=False)) | {"probability": PROBABILITY}
        cell = build_shortcut(ShortcutConfig.model_validate(config), sizes, streams())
    for number, parameter in enumerate(cell.parameters()):
        parameter.data = random(*parameter.shape, seed=5 + number)
    return cell.eval()


def inputs(case: Case) -> tuple[Tensor, Tensor | None]:
    below, skipped = (random(GROUPS, STEPS, SENTENCES, n, seed=60 + n) for n in (BELOW, HIDDEN))
    return below, None if isinstance(case, str) else skipped


def twin(case: Case, cell: Layer, below: Tensor, skipped: Tensor | None, **options: Any) -> np.ndarray:
    """``options`` may hold values of every group and sentence: draws, and p when they were drawn."""
    outputs = np.empty((GROUPS, STEPS, SENTENCES, cell.features))
    for group in range(GROUPS):
        weights = {name: p.detach().flatten(0, 1)[group].numpy() for name, p in cell.named_parameters()}
        for sentence in range(SENTENCES):
            x = list(below[group, :, sentence].detach().numpy())
            if isinstance(case, str):
                layer = networks.CELLS[case](x, weights)
            else:
                assert skipped is not None
                skip = list(skipped[group, :, sentence].detach().numpy())
                own = {name: values[:, group, :, sentence] for name, values in options.items()}
                layer = networks.shortcut_layer(x, skip, weights, *case, probability=PROBABILITY, **own)
            outputs[group, :, sentence] = layer
    return outputs


def test_every_cell_topology_and_gate_has_a_twin_and_is_compared_with_it() -> None:
    assert set(CELLS) == set(networks.CELLS)
    assert set(TOPOLOGIES) == set(networks.TOPOLOGIES)
    assert set(GATES) == set(networks.GATES)
    assert {topology for topology, gate in SHORTCUTS if gate == "sigmoid_below"} == set(TOPOLOGIES)
    assert {gate for topology, gate in SHORTCUTS if topology == "block"} == set(GATES)


@EVERY_CASE
def test_a_cell_equals_its_twin_in_every_lane_and_direction(case: Case) -> None:
    cell, (below, skipped) = cell_of(case), inputs(case)
    ours = outputs_of(cell, below, skipped).detach().numpy()
    assert ours.shape[-1] == cell.features
    assert np.abs(ours - twin(case, cell, below, skipped)).max() < 1e-10


@pytest.mark.first(10)
@EVERY_CASE
def test_a_cells_gradients_equal_central_differences_of_its_twin(case: Case) -> None:
    """Those of its weights, and of what it reads."""
    cell, (below, skipped) = cell_of(case), inputs(case)
    read = {"below": below} if skipped is None else {"below": below, "skipped": skipped}
    for x in read.values():
        x.requires_grad_()
    output = outputs_of(cell, below, skipped)
    weight = random(*output.shape, seed=7)
    (output * weight).sum().backward()

    def value(_: int) -> float:
        return float((twin(case, cell, below, skipped) * weight.numpy()).sum())

    equal_central_differences([*cell.named_parameters(), *read.items()], value)


def test_a_gru_is_torchs_own() -> None:
    """In both directions, with two biases that are only added as one."""
    theirs = torch.nn.GRU(BELOW, HIDDEN, bidirectional=True, dtype=torch.float64)
    cell = cell_of("gru")
    assert isinstance(cell, GruCell)
    with torch.no_grad():
        for direction, ending in enumerate(("", "_reverse")):
            pairs = {"weight_ih_l0": cell.below, "weight_hh_l0": cell.recurrent, "bias_ih_l0": cell.bias}
            for name, ours in pairs.items():
                getattr(theirs, name + ending).copy_(ours[0, direction].t())
            of_h = torch.cat([torch.zeros(2 * HIDDEN).double(), cell.bias_recalled[0, direction]])
            getattr(theirs, f"bias_hh_l0{ending}").copy_(of_h)
    x = random(STEPS, SENTENCES, BELOW, seed=8)
    both = torch.stack([x, x.flip(0), x, x]).requires_grad_()
    output = outputs_of(cell, both, None)[:2]
    ours = torch.cat([output[0], output[1].flip(0)], dim=-1)
    expected = theirs(x)[0]
    assert (ours - expected).abs().max() < 1e-12
    weight = random(*expected.shape, seed=9)
    (ours * weight).sum().backward()
    (expected * weight).sum().backward()
    assert cell.recurrent.grad is not None
    assert cell.bias_recalled.grad is not None
    assert theirs.weight_hh_l0.grad is not None
    assert (cell.recurrent.grad[0, 0].T - theirs.weight_hh_l0.grad).abs().max() < 1e-12
    assert (cell.bias_recalled.grad[0, 0] - theirs.bias_hh_l0.grad[2 * HIDDEN :]).abs().max() < 1e-12


@pytest.mark.parametrize("kernels", ["compiled", "reference"])
@pytest.mark.parametrize("case", ["gru", "min_gru", "min_lstm"])
def test_gates_that_are_shut_give_numbers(case: str, kernels: Kernels) -> None:
    cell, (below, _) = cell_of(case), inputs(case)
    below = (1e3 * below).float().requires_grad_()
    with chosen(kernels):
        output = outputs_of(cell.float(), below, None)
        output.sum().backward()
    assert output.isfinite().all()
    assert below.grad is not None
    assert all(each.grad is not None and each.grad.isfinite().all() for each in (below, *cell.parameters()))


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 8, 9, 33])
@pytest.mark.parametrize("case", ["min_gru", "min_lstm"])
def test_a_scan_gives_what_steps_give_one_after_another(case: str, steps: int, started: bool) -> None:
    """Forward and backward, from zero and from a state."""
    cell = cell_of(case)
    assert isinstance(cell, MinimalCell)
    below = random(GROUPS, steps, SENTENCES, BELOW, seed=3).requires_grad_()
    start = random(GROUPS, SENTENCES, HIDDEN, seed=4) if started else None
    weight = random(GROUPS, steps, SENTENCES, HIDDEN, seed=7)
    found = []
    with chosen("reference"):
        for unrolled in (cell.run(below, None, start), cell.loop((cell.affine(below),), start)):
            asked = [below, *cell.parameters()]
            gradients = torch.autograd.grad((unrolled.output_GTBF * weight).sum(), asked)
            found.append([unrolled.output_GTBF, unrolled.last, *gradients])
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        assert (one - other).abs().max() < 1e-12


@pytest.mark.parametrize(
    "cases",
    [[*SHORTCUTS[: len(TOPOLOGIES)], *READINGS[:4]], [("block", gate) for gate in GATES]],
    ids=["topologies", "gates"],
)
def test_no_two_of_them_are_the_same_function(cases: list[Case]) -> None:
    """While training: at test time a learned Bernoulli gate is the logistic one. Weights of one shape are the same."""
    outputs = [outputs_of(cell_of(case).train(), *inputs(case)).detach() for case in cases]
    for first, ours in enumerate(outputs):
        for other in outputs[:first]:
            assert (ours - other).abs().max() > 1e-3


@pytest.mark.parametrize("kernels", ["compiled", "reference"])
@pytest.mark.parametrize("topology", [each for each in TOPOLOGIES if not each.startswith("both")])
def test_where_the_skip_enters_no_cell_state_both_readings_are_one(topology: str, kernels: Kernels) -> None:
    case = topology, "sigmoid_below"
    with chosen(kernels):
        found = [outputs_of(cell_of(each), *inputs(case)) for each in (case, (*case, "updated"))]
    assert torch.equal(*found)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_next_step_sees_the_skip_through_the_cell_state_where_it_enters_there(topology: str) -> None:
    cell, (below, skipped) = cell_of((topology, "sigmoid_below")), inputs((topology, "sigmoid_below"))
    assert skipped is not None
    cell.recurrent.data.zero_()  # now only a cell state links the steps
    other = skipped.clone()
    other[:, 0] = 0
    first, second = (outputs_of(cell, below, each).detach() for each in (skipped, other))
    difference = first[:, 1] - second[:, 1]
    assert (float(difference.abs().max()) > 1e-3) == topology.startswith("both")


# --- Bernoulli gates --------------------------------------------------------------------------------------------------


def gates_of(cell: Layer) -> tuple[Gate, ...]:
    assert isinstance(cell, ShortcutCell)
    return cell.gates


def drawn(cell: Layer, below: Tensor, skipped: Tensor) -> dict[str, np.ndarray]:
    """What the next training pass will draw, and p at that moment: by gate, group, time step, sentence, unit."""
    replay = streams()
    ps, draws = [], []
    for gate in gates_of(cell):
        gate.eval()
        _, p = gate.carried(below, skipped)
        assert p is not None
        uniform = replay.uniform(torch.empty(LANES, DIRECTIONS, STEPS, SENTENCES, HIDDEN, dtype=torch.float64))
        ps.append(p.detach().numpy())
        draws.append((uniform.flatten(0, 1) < p).double().numpy())
        gate.train()
    return {"draws": np.stack(draws), "p_at_draws": np.stack(ps)}


BERNOULLI = pytest.mark.parametrize(
    "case",
    [
        ("block", "bernoulli"),
        ("block", "bernoulli_below"),
        ("both_highway", "bernoulli_below"),
        ("both_two_gates", "bernoulli_below"),
    ],
    ids="-".join,
)


@BERNOULLI
def test_in_training_a_bernoulli_gate_is_open_or_shut_as_its_lane_draws(case: tuple[str, str]) -> None:
    cell, (below, skipped) = cell_of(case).train(), inputs(case)
    assert skipped is not None
    expected = twin(case, cell, below, skipped, **drawn(cell, below, skipped))
    output = outputs_of(cell, below, skipped).detach().numpy()
    assert np.abs(output - expected).max() < 1e-10
    assert np.abs(output - outputs_of(cell.eval(), below, skipped).detach().numpy()).max() > 1e-3


@BERNOULLI
def test_a_bernoulli_gate_learns_straight_through_its_draw(case: tuple[str, str]) -> None:
    """The network as drawn, with g moved by as much as p moves: its central differences are our gradient."""
    cell, (below, skipped) = cell_of(case).train(), inputs(case)
    assert skipped is not None
    held = drawn(cell, below, skipped)
    output = outputs_of(cell, below, skipped)
    weight = random(*output.shape, seed=7)
    (output * weight).sum().backward()
    equal_central_differences(
        cell.named_parameters(), lambda _: float((twin(case, cell, below, skipped, **held) * weight.numpy()).sum())
    )


@pytest.mark.parametrize("case", [("block", "bernoulli"), ("block", "bernoulli_below")], ids="-".join)
def test_what_passes_a_bernoulli_gate_is_on_average_what_passes_at_test_time(case: tuple[str, str]) -> None:
    cell, (below, skipped) = cell_of(case), inputs(case)
    assert skipped is not None
    gate, count = gates_of(cell)[0], 1000
    expected, p = gate.carried(below, skipped)
    assert p is not None
    gate.train()
    passed = sum(gate.carried(below, skipped)[0].detach() for _ in range(count)) / count
    deviation = skipped.abs() * (p * (1 - p) / count).sqrt()
    assert ((passed - expected).abs() < 5 * deviation + 1e-12).all()


def test_the_straight_through_gradient_of_what_passes_is_that_of_its_expectation() -> None:
    below, skipped = inputs(("block", "bernoulli_below"))
    assert skipped is not None
    gate = gates_of(cell_of(("block", "bernoulli_below")))[0]
    assert isinstance(gate, LearnedBernoulliGate)
    weight, gradients = random(*skipped.shape, seed=7), []
    for module in (gate.train(), gate.eval()):
        gate.zero_grad()
        (module.carried(below, skipped)[0] * weight).sum().backward()
        assert gate.weight.grad is not None
        gradients.append(gate.weight.grad.clone())
    assert torch.allclose(*gradients, rtol=0, atol=1e-12)


def test_a_lane_draws_as_it_would_alone() -> None:
    p = torch.full((GROUPS, STEPS, SENTENCES, HIDDEN), 0.5, dtype=torch.float64)
    together = streams().uniform(p.view(LANES, -1))
    for lane in range(LANES):
        alone = Streams([lane], "dropout", torch.device("cpu")).uniform(p.view(LANES, -1)[:1])
        assert torch.equal(together[lane], alone[0])
    assert not torch.equal(together[0], together[1])
