from typing import get_args

import pytest
from pydantic import ValidationError

from skipstack.models.configs.cells import GateKind, Topology
from skipstack.models.configs.topologies import TOPOLOGIES
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.trial import TrialConfig


def stack(depth: int, composition: object) -> TrialConfig:
    return network(stack={"depth": depth, "composition": composition})


@pytest.mark.parametrize("depth", range(1, 10))
def test_under_composition_2_the_block_is_on_top_at_odd_depths(depth: int) -> None:
    assert CONSTRAINTS["block_on_top"].holds(stack(depth, 2)) == (depth % 2 == 1)


@pytest.mark.parametrize("depth", range(1, 10))
def test_under_composition_3_the_block_is_on_top_at_depths_one_more_than_a_multiple_of_three(depth: int) -> None:
    assert CONSTRAINTS["block_on_top"].holds(stack(depth, 3)) == (depth % 3 == 1)


@pytest.mark.parametrize(
    ("composition", "in_use", "on_top"),
    [([0], True, True), ([0, 0], False, False), ([0, 1], True, True), ([0, 1, 0], True, False)],
)
def test_own_compositions_are_judged_by_their_sources(composition: list[int], in_use: bool, on_top: bool) -> None:
    trial = stack(len(composition), composition)
    assert CONSTRAINTS["shortcut_in_use"].holds(trial) == in_use
    assert CONSTRAINTS["block_on_top"].holds(trial) == on_top


def test_two_layers_have_no_shortcut_under_composition_2() -> None:
    assert not CONSTRAINTS["shortcut_in_use"].holds(stack(2, 2))
    assert CONSTRAINTS["shortcut_in_use"].holds(stack(4, 2))


def test_the_papers_network_has_the_hidden_size_of_its_input() -> None:
    assert CONSTRAINTS["hidden_equals_input"].holds(TrialConfig())
    narrow = TrialConfig.model_validate({"model": {"embedder": {"kind": "tokens", "window": 1}}})
    assert not CONSTRAINTS["hidden_equals_input"].holds(narrow)


def network(**parts: dict[str, object]) -> TrialConfig:
    stack = {"kind": "recurrent", **parts.get("stack", {})}
    return TrialConfig.model_validate({"model": {**parts, "stack": stack}})


def shortcut(topology: str, gate: str, **rest: object) -> TrialConfig:
    return network(stack={"composition": 2, "shortcut": {"topology": topology, "gate": gate}, **rest})


@pytest.mark.parametrize(
    ("trial", "holds"),
    [
        (shortcut("block", "linear"), True),
        (shortcut("both_ungated", "sigmoid_below"), False),
        (shortcut("both_ungated", "none"), True),
        (shortcut("block", "sigmoid_skipped", depth=3, composition=[0, 0, 0]), False),
        (shortcut("block", "none", depth=3, composition=[0, 0, 0]), True),
        (shortcut("block", "sigmoid_below", depth=1), True),
    ],
)
def test_a_gate_is_in_use_where_a_layer_has_a_source_and_its_topology_a_gate(trial: TrialConfig, holds: bool) -> None:
    assert CONSTRAINTS["gate_in_use"].holds(trial) == holds


@pytest.mark.parametrize("topology", get_args(Topology))
def test_the_output_of_the_updated_state_needs_a_skip_that_updates_it(topology: str) -> None:
    def holds(**rest: object) -> bool:
        config = {"topology": topology, "cell_output": "updated"}
        return CONSTRAINTS["cell_output_in_use"].holds(network(stack={"composition": 2, "shortcut": config, **rest}))

    assert holds(depth=3) == topology.startswith("both")
    assert not holds(depth=3, composition=[0, 0, 0])
    assert holds(depth=1)
    assert CONSTRAINTS["cell_output_in_use"].holds(shortcut(topology, "sigmoid_below"))


@pytest.mark.parametrize("topology", get_args(Topology))
def test_topologies_that_are_the_same_without_a_gate_have_one_name(topology: Topology) -> None:
    """Told apart by their links, a gate of 1 counted as no gate."""
    if topology == "both_highway":
        return  # without a gate it is refused
    ungated = {"gated": "plain", "gated_apart": "plain"}
    names: dict[object, list[str]] = {}
    for name, links in TOPOLOGIES.items():
        key = (ungated.get(links.internal, links.internal), ungated.get(links.output, links.output), links.memory)
        names.setdefault(key, []).append(name)
    allowed = [same for same in names.values() if topology in same]
    others = [name for name in allowed[0] if CONSTRAINTS["one_name_a_network"].holds(shortcut(name, "none"))]
    assert len(others) == 1
    assert CONSTRAINTS["one_name_a_network"].holds(shortcut(topology, "sigmoid_below"))


@pytest.mark.parametrize(
    ("composition", "gate", "join", "holds"),
    [
        ([0, 1, 2], "sigmoid_skipped", "top", False),
        ([0, 0, 2], "sigmoid_skipped", "top", False),
        ([0, 0, 1], "sigmoid_skipped", "top", True),
        ([0, 1, 2], "sigmoid_below", "top", True),
        ([0, 1, 2], "sigmoid_skipped", "each_layer", True),
        ([0, 0, 0], "sigmoid_skipped", "top", True),
    ],
)
def test_a_gate_on_skipped_reads_another_layer_than_one_on_below(
    composition: list[int], gate: str, join: str, holds: bool
) -> None:
    trial = shortcut("block", gate, depth=3, composition=composition, join=join)
    assert CONSTRAINTS["skipped_is_not_below"].holds(trial) == holds
    normalised = shortcut("block", gate, depth=3, composition=composition, join=join, normalisation="rms")
    assert CONSTRAINTS["skipped_is_not_below"].holds(normalised)


@pytest.mark.parametrize(
    ("depth", "directions", "holds"), [(1, "both", False), (2, "both", True), (2, "forward", False)]
)
def test_directions_that_meet_in_each_layer_are_two_and_layers_are_several(
    depth: int, directions: str, holds: bool
) -> None:
    trial = network(stack={"depth": depth, "directions": directions, "join": "each_layer"})
    assert CONSTRAINTS["join_in_use"].holds(trial) == holds


def test_a_window_gate_needs_words() -> None:
    assert CONSTRAINTS["window_gate_in_use"].holds(network(embedder={"kind": "tokens", "window_gate": True}))
    assert not CONSTRAINTS["window_gate_in_use"].holds(
        network(embedder={"kind": "tokens", "window_gate": True, "word_size": 0})
    )
    assert CONSTRAINTS["window_gate_in_use"].holds(network(embedder={"kind": "tokens", "word_size": 0}))


@pytest.mark.parametrize("name", [name for name in CONSTRAINTS if not name.startswith("only_")])
def test_a_stack_without_layers_breaks_no_constraint_that_is_about_its_layers(name: str) -> None:
    maps = {"kind": "feature_maps", "word_size": 100}
    for composition in (2, ()):
        trial = network(embedder=maps, stack={"depth": 0, "composition": composition, "hidden": 100})
        assert CONSTRAINTS[name].holds(trial)


@pytest.mark.parametrize(
    ("layers", "depth", "holds"),
    [("none", 0, False), ("none", 1, True), ("convolution", 0, True), ("convolution_pooling_highway", 0, True)],
)
def test_a_layer_stands_between_the_vectors_and_the_head(layers: str, depth: int, holds: bool) -> None:
    trial = network(embedder={"kind": "feature_maps", "layers": layers}, stack={"depth": depth})
    assert CONSTRAINTS["reads_in_layers"].holds(trial) == holds
    assert not CONSTRAINTS["reads_in_layers"].holds(network(stack={"depth": 0}))


@pytest.mark.parametrize("gate", get_args(GateKind))
def test_a_highway_needs_a_gate_with_a_complement(gate: str) -> None:
    if gate in ("none", "linear"):
        with pytest.raises(ValidationError, match="both_highway"):
            shortcut("both_highway", gate)
    else:
        assert shortcut("both_highway", gate)


def test_the_lectures_lstm_is_too_wide_for_a_shortcut() -> None:
    assert network(stack={"cell": "sutskever", "depth": 2})
    with pytest.raises(ValidationError, match=r"twice as wide as a shortcut takes: got sources \[0, 0, 1\]"):
        network(stack={"cell": "sutskever", "depth": 3, "composition": 2})


def test_names_are_keys_and_reasons_are_one_line() -> None:
    for name, constraint in CONSTRAINTS.items():
        assert constraint.name == name
        assert len(constraint.reason.splitlines()) == 1
