from collections.abc import Iterable
from itertools import cycle, product
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from skipstack.data.basis.errors import UserError
from skipstack.models.configs.cells import CellKind, GateKind
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.wiring import Source
from skipstack.models.ground.initialise import initialise
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.layers.lanes import Dropout, Lane, Streams
from skipstack.models.layers.layer import Layer, LayerSizes
from skipstack.models.networks.build import build_stack
from skipstack.models.networks.model import pooled
from skipstack.models.networks.stack import Memory, Stack
from skipstack.models.parts.cells.lstm import LstmCell
from tests.models.gradients import equal_central_differences
from tests.oracles import networks

LANES, STEPS, BELOW, HIDDEN = 2, 6, 3, 4
Composition = Source | tuple[Source, ...]
LENGTHS = torch.tensor([[6, 2, 1], [3, 6, 4]])


def random_stack(composition: Composition, directions: str, *, below: int = BELOW, **parts: Any) -> Stack:
    shortcut = {name: parts.pop(name) for name in ("topology", "gate") if name in parts}
    config = StackConfig.model_validate(
        {
            "depth": 5,
            "hidden": HIDDEN,
            "composition": composition,
            "shortcut": shortcut,
            "directions": directions,
            **parts,
        }
    )
    dropout = Dropout([0.5] * LANES, Streams(range(LANES), "dropout", torch.device("cpu")))
    stack = build_stack(config, below, [Lane(seed=seed) for seed in range(LANES)], dropout).double().eval()
    generator = torch.Generator().manual_seed(1)
    for parameter in stack.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return stack


def random_input(below: int = BELOW) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(LANES, STEPS, LENGTHS.shape[1], below, generator=generator, dtype=torch.float64)


def twin(stack: Stack, x: torch.Tensor, lane: int, sentence: int, **parts: Any) -> np.ndarray:
    length = int(LENGTHS[lane, sentence])

    def weights(modules: Iterable[nn.Module], direction: int) -> list[dict[str, np.ndarray]]:
        return [{name: p.detach()[lane, direction].numpy() for name, p in m.named_parameters()} for m in modules]

    layers, parts["norms"] = (
        [weights(modules, direction) for direction in range(stack.directions)]
        for modules in (stack.layers, stack.normalisations)
    )
    return np.array(networks.stack(list(x[lane, :length, sentence].numpy()), layers, stack.sources, **parts))


def assert_equals_its_twin(stack: Stack, **parts: Any) -> None:
    x = random_input(stack.below)
    ours = stack(x, LENGTHS).detach().numpy()
    assert ours.shape[-1] == stack.features
    for lane in range(LANES):
        for sentence, length in enumerate(LENGTHS[lane].tolist()):
            expected = twin(stack, x, lane, sentence, **parts)
            assert np.abs(ours[lane, :length, sentence] - expected).max() < 1e-10


COMPOSITIONS = pytest.mark.parametrize(
    "composition", [1, 2, 3, 4, 5, "input", (0, 1, 2, 3, 4), (0, 1, 0, 2, 2), ("input", 0, "input", 1, 4)], ids=str
)


def below_for(composition: Composition) -> int:
    """As wide as the layers that take the input."""
    return HIDDEN if "input" in str(composition) else BELOW


@COMPOSITIONS
@pytest.mark.parametrize("gate", ["none", "sigmoid_below"])
@pytest.mark.parametrize("directions", ["both", "forward"])
def test_a_stack_equals_its_twin_on_every_sentence_of_every_lane(
    composition: Composition, gate: str, directions: str
) -> None:
    assert_equals_its_twin(random_stack(composition, directions, below=below_for(composition), gate=gate), gate=gate)


@COMPOSITIONS
def test_directions_that_meet_in_each_layer_equal_their_twin(composition: Composition) -> None:
    stack = random_stack(composition, "both", below=below_for(composition), join="each_layer")
    assert_equals_its_twin(stack, each_layer=True)


@pytest.mark.parametrize(
    "parts",
    [
        {"topology": "both_two_gates", "gate": "sigmoid_below_earlier"},
        {"topology": "both_highway", "gate": "sigmoid_below_previous"},
        {"topology": "block_output_shared", "gate": "linear"},
        {"topology": "block_internal_ungated", "gate": "scaled"},
        {"gate": "bernoulli_below", "cell": "simple"},
        {"gate": "sigmoid_skipped"},
    ],
    ids=lambda parts: "-".join(parts.values()),
)
@pytest.mark.parametrize("join", ["top", "each_layer"])
def test_other_layers_stack_as_well(parts: dict[str, str], join: str) -> None:
    assert_equals_its_twin(random_stack(5, "both", join=join, **parts), each_layer=join == "each_layer", **parts)


@pytest.mark.parametrize("cell", get_args(CellKind))
@pytest.mark.parametrize(("directions", "join"), [("forward", "top"), ("both", "top"), ("both", "each_layer")])
def test_layers_without_a_source_are_the_cell_asked_for(cell: str, directions: str, join: str) -> None:
    stack = random_stack((0,) * 5, directions, cell=cell, join=join)
    assert_equals_its_twin(stack, cell=cell, each_layer=join == "each_layer")


ADDED = [
    {"residual": True},
    *({"normalisation": kind, "residual": each} for kind in ("layer", "rms") for each in (0, 1)),
]


@pytest.mark.parametrize("added", ADDED, ids=lambda added: "-".join(f"{name}={value}" for name, value in added.items()))
@pytest.mark.parametrize(("directions", "join"), [("forward", "top"), ("both", "top"), ("both", "each_layer")])
@pytest.mark.parametrize("parts", [*({"cell": cell} for cell in get_args(CellKind)), {"composition": 5}], ids=str)
def test_residual_connections_and_normalisation_equal_their_twin_around_any_cell(
    added: dict[str, Any], directions: str, join: str, parts: dict[str, Any]
) -> None:
    composition = parts.get("composition", 0)
    own = {"join": join, **added, **{name: value for name, value in parts.items() if name != "composition"}}
    stack = random_stack(composition, directions, **own)
    named = {**{name: value for name, value in own.items() if name != "join"}, "each_layer": join == "each_layer"}
    assert_equals_its_twin(stack, **named)


def test_a_layer_of_another_width_cannot_be_added_to_the_layer_below(monkeypatch: pytest.MonkeyPatch) -> None:
    def build_cell(kind: str, sizes: LayerSizes, streams: Streams) -> Layer:
        wider = sizes.hidden + (sizes.below == HIDDEN)
        return LstmCell(LayerSizes(lanes=sizes.lanes, directions=1, below=sizes.below, hidden=wider))

    monkeypatch.setattr("skipstack.models.networks.build.build_cell", build_cell)
    message = "model.stack.residual adds up outputs of one width: got layers of cell lstm that put out 4 and 5 numbers"
    with pytest.raises(UserError, match=message):
        random_stack(0, "forward", depth=2, residual=True)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_the_gradients_of_a_normalised_residual_stack_equal_central_differences(kind: str) -> None:
    stack, x = random_stack(5, "both", cell="gru", normalisation=kind, residual=True), random_input()
    weight = torch.randn(stack(x, LENGTHS).shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)

    def value() -> Tensor:
        return (stack(x, LENGTHS) * weight).sum()

    value().backward()
    names = dict(stack.named_parameters())
    assert sum(name.startswith("normalisations") for name in names) == stack.layers.__len__() * (1 + (kind == "layer"))
    equal_central_differences(names.items(), lambda _: float(value().detach()), places=2, tolerance=1e-6)


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_gains_start_at_one_and_biases_at_zero_so_that_features_start_normalised(kind: str) -> None:
    stack, x = random_stack(0, "forward", depth=1, normalisation=kind), random_input()
    initialise(stack, range(LANES), scale=1.0, spread=0.1)
    y = stack.normalisations[0](x)
    assert (y.square().mean(dim=-1) - 1).abs().max() < 0.05  # epsilon counts where x is small
    assert (y.mean(dim=-1).abs().max() < 1e-12) == (kind == "layer")


def test_the_lectures_tagger_reads_both_vectors_of_both_directions() -> None:
    for directions, vectors in (("forward", 2), ("both", 4)):
        assert random_stack((0,), directions, depth=1, cell="sutskever").features == vectors * HIDDEN
        assert random_stack((0,), directions, depth=1, cell="simple").features == vectors // 2 * HIDDEN


@pytest.mark.parametrize("topology", ["both_gated", "block"])
def test_where_the_directions_meet_makes_a_difference_from_the_second_layer_on(topology: str) -> None:
    widths = [
        [layer.below.shape[-2] for layer in random_stack(5, "both", join=join, topology=topology).layers]
        for join in ("top", "each_layer")
    ]
    assert widths == [[BELOW, *[HIDDEN] * 4], [BELOW, *[2 * HIDDEN] * 4]]


@pytest.mark.parametrize("join", ["top", "each_layer"])
def test_what_stands_at_padding_changes_nothing(join: str) -> None:
    stack, x = random_stack(5, "both", join=join), random_input()
    inside = torch.arange(STEPS).view(1, -1, 1) < LENGTHS.unsqueeze(1)
    other = torch.where(inside.unsqueeze(-1), x, torch.full_like(x, 1e3))
    assert torch.equal(stack(x, LENGTHS)[inside], stack(other, LENGTHS)[inside])


@pytest.mark.parametrize("join", ["top", "each_layer"])
def test_the_order_of_sentences_changes_nothing(join: str) -> None:
    stack, x, order = random_stack(5, "both", join=join), random_input(), [2, 0, 1]
    difference = stack(x, LENGTHS)[:, :, order] - stack(x[:, :, order], LENGTHS[:, order])
    inside = torch.arange(STEPS).view(1, -1, 1) < LENGTHS[:, order].unsqueeze(1)
    assert difference[inside].abs().max() < 1e-12


def test_the_opposite_order_turns_each_sentence_by_itself_and_is_its_own_inverse() -> None:
    x = random_input()
    order = ReadingOrder(LENGTHS, x.shape[1])
    turned = order.turned(x)
    assert torch.equal(turned[0, :2, 1], x[0, :2, 1].flip(0))
    assert torch.equal(turned[0, 2:, 1], x[0, 2:, 1])
    assert torch.equal(order.turned(turned), x)


@pytest.mark.parametrize("directions", ["both", "forward"])
def test_dropout_falls_on_the_first_and_on_the_last_layer_only(
    directions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, x = random_stack(4, directions), random_input()
    whole = stack(x, LENGTHS)

    def kept(first: float, last: float) -> Tensor:
        shares = [last, first]
        monkeypatch.setattr(stack.dropout, "factors", lambda output: torch.full_like(output, shares.pop()))
        dropped: Tensor = stack(x, LENGTHS)
        assert not shares
        return dropped

    assert torch.equal(kept(1.0, 0.5), whole / 2)
    assert not torch.equal(kept(0.5, 1.0), whole)


@pytest.mark.parametrize("directions", ["both", "forward"])
def test_a_stack_of_no_layers_puts_out_what_it_reads(directions: str) -> None:
    stack, x = random_stack(2, directions, depth=0), random_input()
    assert stack.train()(x, LENGTHS) is x
    assert (stack.features, list(stack.parameters())) == (BELOW, [])


@pytest.mark.parametrize("directions", ["both", "forward"])
def test_the_last_state_of_a_text_without_layers_is_its_last_token(directions: str) -> None:
    stack, x = random_stack(2, directions, depth=0), random_input()
    text = pooled(stack(x, LENGTHS), LENGTHS, stack.directions, "last")
    for lane in range(LANES):
        for place, length in enumerate(LENGTHS[lane].tolist()):
            assert torch.equal(text[lane, 0, place], x[lane, length - 1, place])


SKIPS = [
    None,
    {"kind": "fixed", "reach": 3},
    {"kind": "attention", "reach": 3, "policy_hidden": 4},
    {"kind": "dynamic", "reach": 3, "policy_hidden": 4},
]


WITHOUT_SOURCES: list[dict[str, Any]] = [
    {"cell": cell, "composition": (0,) * 5, **added}
    for cell in get_args(CellKind)
    for added in ({}, {"residual": True, "normalisation": "layer"})
]
WITH_SOURCES: list[dict[str, Any]] = [
    {"gate": gate, "topology": topology, "composition": composition, **below}
    for (gate, below), topology, composition in zip(
        product(get_args(GateKind), [*({"skip": skip} for skip in SKIPS), {"cell": "simple"}, {"cell": "feedforward"}]),
        cycle(["block", "both_gated", "both_two_gates", "hidden_gated", "block_output_shared"]),
        cycle([2, 5, 1, (0, 1, 0, 2, 2)]),
    )
]


@pytest.mark.parametrize("parts", [*WITHOUT_SOURCES, *WITH_SOURCES], ids=str)
def test_a_text_read_in_pieces_with_a_memory_is_the_text_read_at_once(parts: dict[str, Any]) -> None:
    """Cells, skips, gates, topologies and compositions, each gate above each kind of layer."""
    stack = random_stack(directions="forward", **parts)
    generator = torch.Generator().manual_seed(3)
    x_RTBI = torch.randn(LANES, 9, 2, BELOW, generator=generator, dtype=torch.float64)
    lengths = torch.full((LANES, 2), 9)
    whole = stack(x_RTBI, lengths)
    memory = Memory()
    split = x_RTBI.split([4, 1, 4], dim=1)
    pieces = [stack(piece, torch.full((LANES, 2), piece.shape[1]), memory=memory) for piece in split]
    assert (torch.cat(pieces, dim=1) - whole).abs().max() < 1e-12
    if parts.get("cell") != "feedforward" or "gate" in parts:  # alone, they read no other step
        assert (stack(x_RTBI[:, 4:], lengths - 4) - whole[:, 4:]).abs().max() > 1e-6
    assert not any(state is not None and state.requires_grad for state in memory.states)
