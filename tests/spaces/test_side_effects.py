"""What an axis changes besides its own field, against what was enumerated by hand."""

from typing import Any

import pytest

from skipstack.models.configs.wiring import sources
from skipstack.spaces.function import FunctionConfig, FunctionSource
from skipstack.spaces.side_effects import brought_along, change_name, effects_of_axes, side_effects
from skipstack.spaces.space import Space, SpaceConfig
from skipstack.spaces.trial import TrialConfig

DEPTH, COMPOSITION, CELL = "model.stack.depth", "model.stack.composition", "model.stack.cell"
SKIP, STACK, KIND = "model.stack.skip", "model.stack", "training.optimiser.kind"
BACK: dict[str, Any] = {"kind": "fixed", "reach": 2}


def network(**stack: Any) -> TrialConfig:
    return TrialConfig.model_validate({"model": {"stack": {"kind": "recurrent", "hidden": 8, "depth": 1, **stack}}})


def optimised(**optimiser: Any) -> TrialConfig:
    return TrialConfig.model_validate({"training": {"optimiser": optimiser}})


@pytest.mark.parametrize("composition", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("before", range(1, 8))
@pytest.mark.parametrize("after", range(1, 8))
def test_a_depth_brings_the_shortcuts_of_the_layers_that_it_adds(composition: int, before: int, after: int) -> None:
    wired = {layer for layer, source in enumerate(sources(composition, 7), start=1) if source}
    numbers = sorted(wired & set(range(min(before, after) + 1, max(before, after) + 1)))
    found = side_effects(
        network(depth=after, composition=composition), network(depth=before, composition=composition), {DEPTH}
    )
    if not numbers:
        assert found == ()
        return
    which = " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))
    one = {True: "with a shortcut into layer", False: "without the shortcut into layer"}
    several = {True: "with shortcuts into layers", False: "without the shortcuts into layers"}
    assert found == (f"{(one if len(numbers) == 1 else several)[after > before]} {which}",)


@pytest.mark.parametrize(
    ("config", "base", "axes", "effects"),
    [
        (network(depth=3), network(), {DEPTH}, ()),
        (network(depth=3, composition=2), network(composition=2), {DEPTH}, ("with a shortcut into layer 3",)),
        (network(depth=3, composition=2), network(composition=2), {DEPTH, COMPOSITION}, ()),
        (network(depth=3, composition=2), network(), {STACK}, ()),
        (network(depth=3, composition=2), network(depth=3), {COMPOSITION}, ()),
        (
            network(depth=5, composition=2),
            network(depth=1, composition=2),
            {DEPTH},
            ("with shortcuts into layers 3 and 5",),
        ),
        (
            network(depth=1, composition=2),
            network(depth=3, composition=2),
            {DEPTH},
            ("without the shortcut into layer 3",),
        ),
        (
            network(depth=3, composition=2, cell="gru"),
            network(composition=2, cell="gru"),
            {DEPTH},
            ("with a shortcut into layer 3", "with an LSTM as layer 3"),
        ),
        (
            network(depth=3, composition=2, cell="gru"),
            network(depth=3, cell="gru"),
            {COMPOSITION},
            ("with an LSTM as layer 3",),
        ),
        (
            network(depth=3, composition=2, cell="gru"),
            network(depth=3, composition=2),
            {CELL},
            ("with layer 3 still an LSTM",),
        ),
        (network(depth=3, cell="gru"), network(depth=3), {CELL}, ()),
        (
            network(depth=5, composition=2, skip=BACK),
            network(depth=5, composition=2),
            {SKIP},
            ("with no skips in layers 3 and 5",),
        ),
        (
            network(depth=3, composition=2, skip=BACK, skipping="top"),
            network(depth=3, composition=2, skipping="top"),
            {SKIP},
            ("with no skip in layer 3",),
        ),
        (network(depth=4, composition=2, skip=BACK, skipping="top"), network(depth=4, composition=2), {SKIP}, ()),
        (
            optimised(kind="adam"),
            optimised(kind="sgd", learning_rate=0.5),
            {KIND},
            ("with learning_rate 0.001 for 0.5",),
        ),
        (optimised(kind="adam"), optimised(kind="sgd"), {KIND, "training.optimiser.learning_rate"}, ()),
        (optimised(kind="adam", learning_rate=0.02), optimised(kind="sgd"), {KIND}, ()),
        (optimised(kind="adam"), optimised(kind="sgd"), {"training.optimiser"}, ()),
    ],
)
def test_what_else_changes_is_named(
    config: TrialConfig, base: TrialConfig, axes: set[str], effects: tuple[str, ...]
) -> None:
    assert side_effects(config, base, axes) == effects


def test_of_a_space_every_value_with_a_side_effect_is_told_and_no_other() -> None:
    axes = {
        DEPTH: {"choice": [1, 2, 3, 5]},
        "model.stack.hidden": {"integer": [4, 8]},
        "training.optimiser.learning_rate": {"log": [0.01, 0.1]},
        "model.head.kind": {"choice": ["softmax", "crf"]},
    }
    base = network(composition=2).model_dump(mode="json")
    space = Space(SpaceConfig.model_validate({"base": base, "axes": axes}))
    assert list(effects_of_axes(space, space.config(space.base_point()))) == [
        (DEPTH, 3, ("with a shortcut into layer 3",)),
        (DEPTH, 5, ("with shortcuts into layers 3 and 5",)),
    ]
    plain = Space(SpaceConfig.model_validate({"base": network().model_dump(mode="json"), "axes": axes}))
    assert list(effects_of_axes(plain, plain.config(plain.base_point()))) == []


def test_axes_that_a_value_activates_are_named_with_their_values_and_what_they_bring_is_theirs() -> None:
    axes = {
        DEPTH: {"choice": [1, 3, 5]},
        COMPOSITION: {"choice": [0, 2], "when": {DEPTH: [3, 5]}},
        "model.stack.dropout": {"choice": [0.1, 0.3], "when": {DEPTH: [5]}},
    }
    base = network(dropout=0.1)
    space = Space(SpaceConfig.model_validate({"base": base.model_dump(mode="json"), "axes": axes}))
    assert list(effects_of_axes(space, base)) == []
    deep = space.config({DEPTH: 5, COMPOSITION: 2, "model.stack.dropout": 0.3})
    shallow, plain = space.config({DEPTH: 1}), space.config({DEPTH: 5, COMPOSITION: 2, "model.stack.dropout": 0.1})
    assert brought_along(space, deep, shallow, DEPTH) == ("with composition 2 and dropout 0.3",)
    assert brought_along(space, shallow, deep, DEPTH) == ("with composition 0 and dropout 0.1",)
    assert brought_along(space, deep, plain, "model.stack.dropout") == ()


def test_a_field_that_both_have_outside_of_its_axis_is_not_brought_along() -> None:
    axes = {DEPTH: {"choice": [1, 3, 5]}, "model.stack.dropout": {"choice": [0.1], "when": {DEPTH: [5]}}}
    base = network(dropout=0.5)
    space = Space(SpaceConfig.model_validate({"base": base.model_dump(mode="json"), "axes": axes}))
    assert brought_along(space, space.config({DEPTH: 3}), base, DEPTH) == ()


def test_a_change_has_one_name_with_all_that_it_brings() -> None:
    base = network(composition=2)
    axes = {DEPTH: {"choice": [1, 3]}, "model.stack.dropout": {"choice": [0.0]}}
    space = Space(SpaceConfig.model_validate({"base": base.model_dump(mode="json"), "axes": axes}))
    ((axis, value, effects),) = effects_of_axes(space, base)
    assert change_name(space, axis, value, effects) == "depth 3 (with a shortcut into layer 3)"
    assert change_name(space, axis, value, effects, beside="1") == "depth 3 beside 1 (with a shortcut into layer 3)"
    assert change_name(space, axis, value) == "depth 3"


def test_a_rate_that_is_an_axis_is_no_side_effect_of_another_optimiser() -> None:
    axes = {KIND: {"choice": ["sgd", "adam"]}, "training.optimiser.learning_rate": {"log": [0.001, 0.1]}}
    for varied, effects in (
        (axes, []),
        ({KIND: axes[KIND]}, [(KIND, "adam", ("with learning_rate 0.001 for 0.02",))]),
    ):
        space = Space(
            SpaceConfig.model_validate({"base": optimised(kind="sgd").model_dump(mode="json"), "axes": varied})
        )
        assert list(effects_of_axes(space, optimised(kind="sgd"))) == effects


def test_a_function_has_no_side_effects() -> None:
    source = FunctionSource(name="f", file="f.py", source="0" * 16)
    one, other = (FunctionConfig.model_validate({"function": source, "depth": depth}) for depth in (1, 3))
    assert side_effects(one, other, {"depth"}) == ()
