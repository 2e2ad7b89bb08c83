import pytest

from spaces.constraints import CONSTRAINTS
from spaces.trial import TrialConfig


def stack(depth: int, composition: object) -> TrialConfig:
    return TrialConfig.model_validate({"model": {"stack": {"depth": depth, "composition": composition}}})


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
    narrow = TrialConfig.model_validate({"model": {"embedder": {"window": 1}}})
    assert not CONSTRAINTS["hidden_equals_input"].holds(narrow)


def test_names_are_keys_and_reasons_are_one_line() -> None:
    for name, constraint in CONSTRAINTS.items():
        assert constraint.name == name
        assert len(constraint.reason.splitlines()) == 1
