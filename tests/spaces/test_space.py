"""Spaces against a plain twin: every combination of values, tried one by one and sifted."""

import subprocess
import sys
from copy import deepcopy
from itertools import islice, product
from math import isclose, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.models.configs.inputs import CharacterCnnConfig, CharacterLstmConfig, EmbedderConfig
from skipstack.models.configs.training import Adam, Sgd
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.domains import Choice
from skipstack.spaces.space import Point, Space, SpaceConfig
from skipstack.spaces.trial import TrialConfig

DEPTH, COMPOSITION = "model.stack.depth", "model.stack.composition"
GATE, HIDDEN = "model.stack.shortcut.gate", "model.stack.hidden"
KIND, MOMENTUM = "training.optimiser.kind", "training.optimiser.momentum"
BETA, RATE = "training.optimiser.beta1", "training.optimiser.learning_rate"
REPOSITORY = Path(__file__).parents[2]
SHORTCUTS: dict[str, Any] = {"model": {"stack": {"kind": "recurrent", "composition": 2}}}
"""A base with a shortcut in layers 3, 5, 7, ..."""


def space(axes: dict[str, Any], *constraints: str, base: dict[str, Any] | None = None) -> Space:
    return Space(SpaceConfig.model_validate({"base": base or {}, "axes": axes, "constraints": constraints}))


# --- the plain twin ---------------------------------------------------------------------------------------------------


def look(tree: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        tree = tree.get(name, {})
    return None if tree == {} else tree


def look_all(config: TrialConfig, axes: dict[str, Any]) -> dict[str, Any]:
    tree = config.model_dump(mode="json")
    return {path: look(tree, path) for path in axes}


def put(tree: dict[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents[:-1]:
        tree = tree[parent]
    if name == "kind" and tree[parents[-1]]["kind"] != value:
        tree[parents[-1]] = {"sgd": Sgd, "adam": Adam}[value]().model_dump(mode="json")
    tree[parents[-1]][name] = value


def values(axis: dict[str, Any]) -> list[Any]:
    return axis["choice"] if "choice" in axis else list(range(axis["integer"][0], axis["integer"][1] + 1))


def twin(axes: dict[str, Any], constraints: list[str], base: TrialConfig) -> list[TrialConfig]:
    """Every distinct config, in the order of the product: an inactive axis makes repetitions, which are dropped."""
    found: dict[str, TrialConfig] = {}
    for combination in product(*(values(axis) for axis in axes.values())):
        tree = deepcopy(base.model_dump(mode="json"))
        for (path, axis), value in zip(axes.items(), combination, strict=True):
            conditions = axis.get("when", {}).items()
            if look(tree, path) is not None and all(look(tree, on) in allowed for on, allowed in conditions):
                put(tree, path, value)
        try:
            trial = TrialConfig.model_validate(tree)
        except ValidationError:
            continue
        if all(CONSTRAINTS[name].holds(trial) for name in constraints):
            found.setdefault(trial.identity, trial)
    return list(found.values())


# --- random spaces ----------------------------------------------------------------------------------------------------

POOL: dict[str, list[Any]] = {
    DEPTH: [1, 2, 3, 4, 5],
    COMPOSITION: [1, 2, 3, 5, [0, 0, 1], [0, 1, 0], [0, 1]],
    GATE: ["none", "sigmoid_below"],
    HIDDEN: [4, 31, 465],
    "model.embedder.window": [0, 1, 3],
    KIND: ["adam", "sgd"],
    MOMENTUM: [0.0, 0.5, 0.9],
    BETA: [0.8, 0.9],
}


@st.composite
def descriptions(draw: st.DrawFn, conditions: bool = True) -> tuple[dict[str, Any], list[str]]:
    """The axes and constraints of a finite space; depth always varies, and kinds come before what they own."""
    others = draw(
        st.lists(st.sampled_from([path for path in POOL if path not in (DEPTH, KIND)]), max_size=3, unique=True)
    )
    order = draw(st.permutations([DEPTH, *others]))
    if conditions and (draw(st.booleans()) or BETA in others):
        order = [KIND, *order]
    axes: dict[str, Any] = {}
    for path in order:
        if path == HIDDEN and draw(st.booleans()):
            axes[path] = {"integer": [draw(st.integers(1, 3)), draw(st.integers(4, 6))]}
        else:
            least = 2 if path == KIND else 1
            axes[path] = {
                "choice": draw(st.lists(st.sampled_from(POOL[path]), min_size=least, max_size=3, unique_by=str))
            }
        earlier = [other for other in axes if other != path and "choice" in axes[other]]
        if conditions and earlier and path != KIND and draw(st.booleans()):
            on = draw(st.sampled_from(earlier))
            axes[path]["when"] = {on: draw(st.lists(st.sampled_from(axes[on]["choice"]), min_size=1, max_size=2))}
    if not conditions:
        axes.pop(BETA, None)
    constraints = draw(st.lists(st.sampled_from(["shortcut_in_use", "block_on_top"]), unique=True))
    return axes, constraints


def built(axes: dict[str, Any], constraints: list[str]) -> Space | None:
    """The space, or None where no point of it is allowed; any other mistake would be the test's."""
    try:
        return space(axes, *constraints)
    except UserError as error:
        if "no point of the space is allowed" not in str(error):
            raise
        return None


@given(descriptions())
def test_enumeration_is_the_sifted_product_in_its_order(description: tuple[dict[str, Any], list[str]]) -> None:
    axes, constraints = description
    expected = twin(axes, constraints, TrialConfig())
    ours = built(axes, constraints)
    if ours is None:
        assert expected == []
        return
    configs = [ours.config(point) for point in ours.enumerate()]
    assert configs == expected
    assert len({config.identity for config in configs}) == len(configs) == ours.count()


@given(descriptions())
def test_point_is_the_inverse_of_config_and_contains_is_membership(description: Any) -> None:
    ours = built(*description)
    assume(ours is not None)
    assert ours is not None
    everything = list(ours.enumerate())
    for point in everything:
        config = ours.config(point)
        assert ours.contains(config)
        assert ours.point(config) == point
        assert list(ours.point(config)) == list(point)
    members = {ours.config(point).identity for point in everything}
    for depth in range(1, 7):
        for batch_size in (1, 2):
            other = {"model": {"stack": {"kind": "recurrent", "depth": depth}}, "training": {"batch_size": batch_size}}
            trial = TrialConfig.model_validate(other)
            assert ours.contains(trial) == (trial.identity in members)


@given(descriptions(), st.integers(0, 2**32))
def test_samples_are_allowed_and_repeat_with_their_seed(description: Any, seed: int) -> None:
    ours = built(*description)
    assume(ours is not None)
    assert ours is not None
    points = list(ours.enumerate())
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    drawn = [ours.sample(first) for _ in range(5)]
    assert drawn == [ours.sample(second) for _ in range(5)]
    assert all(point in points for point in drawn)


@given(descriptions(conditions=False))
def test_neighbours_without_conditions_are_the_allowed_points_one_step_away(description: Any) -> None:
    ours = built(*description)
    assume(ours is not None)
    assert ours is not None
    everything = list(ours.enumerate())

    def one_step(a: Point, b: Point) -> bool:
        changed = [path for path in a if a[path] != b[path]]
        if len(changed) != 1:
            return False
        path = changed[0]
        return "choice" in description[0][path] or abs(a[path] - b[path]) == 1  # type: ignore[operator]

    for point in everything:
        near = list(ours.neighbours(point))
        expected = [other for other in everything if one_step(point, other)]
        assert sorted(map(str, near)) == sorted(map(str, expected))
        assert all(point in ours.neighbours(other) for other in near)  # symmetric


@pytest.mark.slow
@given(descriptions())
def test_neighbours_are_distinct_allowed_points_that_change_one_axis(description: Any) -> None:
    ours = built(*description)
    assume(ours is not None)
    assert ours is not None
    for point in islice(ours.enumerate(), 10):
        near = list(ours.neighbours(point))
        assert point not in near
        assert len({str(other) for other in near}) == len(near)
        for other in near:
            assert ours.allowed(other)
            shared = [path for path in point if path in other and point[path] != other[path]]
            assert len(shared) == 1


@given(descriptions())
def test_one_axis_at_a_time_is_the_enumeration_sifted_by_what_each_point_changes(description: Any) -> None:
    ours = built(*description)
    assume(ours is not None)
    assert ours is not None
    walk = list(ours.one_at_a_time())
    base = look_all(TrialConfig(), description[0])

    def at_home(point: Point, path: str) -> bool:
        """Whether an axis that may have the base's value has it; otherwise, whether it has its first value."""
        own = [value for value in values(description[0][path]) if str(value) == str(base[path])]
        return str(point[path]) == str((own or values(description[0][path]))[0])

    expected = [p for p in ours.enumerate() if sum(not at_home(p, path) for path in p) <= 1]
    assert sorted(map(str, walk)) == sorted(map(str, expected))
    away = [[path for path in point if not at_home(point, path)] for point in walk]
    order = [list(description[0]).index(changed[0]) if changed else -1 for changed in away]
    assert order == sorted(order)  # the base where it is allowed, then axis by axis


# --- single cases -----------------------------------------------------------------------------------------------------


def test_the_small_wu2017_space_is_as_written_by_hand() -> None:
    ours = space(
        {
            DEPTH: {"choice": [1, 3]},
            GATE: {"choice": ["none", "sigmoid_below"], "when": {DEPTH: [3]}},
            COMPOSITION: {"choice": [2, 5], "when": {DEPTH: [3]}},
        },
        "block_on_top",
        base=SHORTCUTS,
    )
    assert list(ours.enumerate()) == [
        {DEPTH: 1},
        {DEPTH: 3, GATE: "none", COMPOSITION: 2},
        {DEPTH: 3, GATE: "none", COMPOSITION: 5},
        {DEPTH: 3, GATE: "sigmoid_below", COMPOSITION: 2},
        {DEPTH: 3, GATE: "sigmoid_below", COMPOSITION: 5},
    ]
    # What depth 3 activates has the base's values: the paper's gate and composition.
    assert list(ours.neighbours({DEPTH: 1})) == [{DEPTH: 3, GATE: "sigmoid_below", COMPOSITION: 2}]
    assert ours.base_point() == {DEPTH: 7}


def test_a_newly_active_axis_takes_the_first_value_where_the_base_has_none_of_them() -> None:
    ours = space({DEPTH: {"choice": [1, 3]}, HIDDEN: {"integer": [8, 9], "when": {DEPTH: [3]}}})
    assert list(ours.neighbours({DEPTH: 1})) == [{DEPTH: 3, HIDDEN: 8}]


def test_a_condition_on_an_inactive_axis_compares_with_the_base() -> None:
    axes = {
        DEPTH: {"choice": [1, 3]},
        COMPOSITION: {"choice": [2, 5], "when": {DEPTH: [3]}},
        HIDDEN: {"choice": [8, 9], "when": {COMPOSITION: [2]}},
    }
    # At depth 1 the composition is inactive, and the base's is 2: hidden is active there.
    assert space(axes, base=SHORTCUTS).count() == 2 + 2 + 1
    assert space(axes, base={"model": {"stack": {"kind": "recurrent", "composition": 5}}}).count() == 1 + 2 + 1


def test_a_condition_on_a_field_that_no_axis_varies_asks_the_base() -> None:
    axes = {HIDDEN: {"choice": [8, 9], "when": {"model.stack.directions": ["forward"]}}}
    assert list(space(axes).enumerate()) == [{}]
    assert space(axes, base={"model": {"stack": {"kind": "recurrent", "directions": "forward"}}}).count() == 2


def test_a_whole_optimiser_is_a_value_and_conditions_may_look_into_it() -> None:
    ours = space(
        {
            "training.optimiser": {"choice": [{"kind": "sgd"}, {"kind": "adam", "learning_rate": 1}]},
            "training.batch_size": {"choice": [8, 16], "when": {KIND: ["adam"]}},
        }
    )
    configs = [ours.config(point).training for point in ours.enumerate()]
    assert [(each.optimiser, each.batch_size) for each in configs] == [
        (Sgd(), 1),
        (Adam(learning_rate=1.0), 8),
        (Adam(learning_rate=1.0), 16),
    ]


def test_a_reader_of_spellings_is_a_convolution_unless_it_says_its_kind() -> None:
    spelling = "model.embedder.spelling"
    whole = space({spelling: {"choice": [None, {"filters": 8}, {"kind": "blstm", "hidden": 4, "highways": 1}]}})
    configs = [whole.config(point).model.embedder for point in whole.enumerate()]
    assert [each.spelling for each in configs if isinstance(each, EmbedderConfig)] == [
        None,
        CharacterCnnConfig(filters=8),
        CharacterLstmConfig(hidden=4, highways=1),
    ]
    assert len({each.input_size for each in configs}) == 2, "8 filters are as many numbers as 2 x 4 units"
    base = {"model": {"embedder": {"kind": "tokens", "spelling": {"filters": 20}}}}
    parts = space(
        {
            f"{spelling}.kind": {"choice": ["cnn", "blstm"]},
            f"{spelling}.filters": {"choice": [10, 20]},
            f"{spelling}.hidden": {"choice": [5]},
            f"{spelling}.highways": {"choice": [0, 1]},
        },
        base=base,
    )
    assert parts.count() == 2 * 2 + 2


def test_fields_of_the_kind_that_is_not_there_are_inactive() -> None:
    ours = space({KIND: {"choice": ["sgd", "adam"]}, MOMENTUM: {"choice": [0, 0.9]}, BETA: {"choice": [0.8]}})
    assert list(ours.enumerate()) == [
        {KIND: "sgd", MOMENTUM: 0.0},
        {KIND: "sgd", MOMENTUM: 0.9},
        {KIND: "adam", BETA: 0.8},
    ]


def test_one_and_one_point_zero_are_one_learning_rate() -> None:
    ours = space({RATE: {"choice": [1, 0.5]}})
    assert ours.contains(TrialConfig.model_validate({"training": {"optimiser": {"kind": "sgd", "learning_rate": 1.0}}}))
    with pytest.raises(UserError, match=r"value 1\.0 occurs twice"):
        space({RATE: {"choice": [1, 0.5, 1.0]}})


def test_what_a_value_activates_follows_so_that_two_fields_change_together() -> None:
    words, capitals = "model.embedder.word_size", "model.embedder.capital_size"
    ours = space(
        {
            words: {"named": {"words and characters": 100, "characters only": 0}},
            capitals: {"choice": [0], "when": {words: [0]}},
            "model.embedder.window": {"choice": [3, 5]},
        }
    )
    assert list(ours.one_at_a_time()) == [
        {words: 100, "model.embedder.window": 3},
        {words: 0, capitals: 0, "model.embedder.window": 3},
        {words: 100, "model.embedder.window": 5},
    ]


def test_a_base_outside_of_the_space_is_brought_into_it_before_one_axis_changes() -> None:
    ours = space({DEPTH: {"choice": [1, 3]}, HIDDEN: {"choice": [8, 16]}})
    expected = [{DEPTH: 1, HIDDEN: 8}, {DEPTH: 3, HIDDEN: 8}, {DEPTH: 1, HIDDEN: 16}]
    assert list(ours.one_at_a_time()) == expected


def test_named_values_make_the_same_space_as_the_values_alone() -> None:
    optimisers = [{"kind": "sgd"}, {"kind": "adam", "learning_rate": 1}]
    named = space({"training.optimiser": {"named": dict(zip(["plain", "adaptive"], optimisers, strict=True))}})
    alone = space({"training.optimiser": {"choice": optimisers}})
    assert list(named.enumerate()) == list(alone.enumerate())
    domain = named.domains["training.optimiser"]
    assert isinstance(domain, Choice)
    assert [domain.name(point["training.optimiser"]) for point in named.enumerate()] == ["plain", "adaptive"]


def test_an_own_composition_is_no_point_at_another_depth() -> None:
    ours = space({DEPTH: {"choice": [3, 4]}, COMPOSITION: {"choice": [2, [0, 0, 1]]}})
    assert [(point[DEPTH], point[COMPOSITION]) for point in ours.enumerate()] == [(3, 2), (3, [0, 0, 1]), (4, 2)]


def test_every_allowed_point_of_a_small_space_is_drawn() -> None:
    ours = space(
        {DEPTH: {"integer": [1, 9]}, GATE: {"choice": ["none", "sigmoid_below"], "when": {DEPTH: [3, 5]}}},
        "block_on_top",
    )
    generator = np.random.default_rng(0)
    drawn = {str(ours.sample(generator)) for _ in range(400)}
    assert drawn == {str(point) for point in ours.enumerate()}


def test_a_needle_in_a_finite_haystack_is_found_and_in_an_endless_one_it_is_said_how_rare() -> None:
    axes: dict[str, Any] = {HIDDEN: {"integer": [1, 3000]}}
    needle = {"model": {"embedder": {"kind": "tokens", "word_size": 900}}}
    one = space(axes, "hidden_equals_input", base=needle)
    assert one.sample(np.random.default_rng(1)) == {HIDDEN: 2865}
    axes = {HIDDEN: {"integer": [1, 10**8]}, RATE: {"log": [0.001, 0.1]}}
    endless = space(axes, "hidden_equals_input")
    with pytest.raises(UserError, match=r"rarer than about 1 in 333; .* constraint hidden_equals_input"):
        endless.sample(np.random.default_rng(1))


def test_where_no_point_is_allowed_the_two_commonest_reasons_are_told_with_their_shares() -> None:
    """Of two layers the upper one takes no skip, half of the draws; no draw has as many units as inputs."""
    axes: dict[str, Any] = {DEPTH: {"choice": [2, 3]}, HIDDEN: {"integer": [1, 10**8]}, RATE: {"log": [0.001, 0.1]}}
    with pytest.raises(UserError) as raised:
        space(axes, "block_on_top", "hidden_equals_input", base=SHORTCUTS).sample(np.random.default_rng(3))
    _, *reasons = str(raised.value).split("; ")
    names = {reason.split("constraint ")[1].split(":")[0]: int(reason.split(" %")[0]) for reason in reasons}
    assert names == {"block_on_top": pytest.approx(50, abs=8), "hidden_equals_input": pytest.approx(50, abs=8)}


def test_continuous_axes_have_no_count_and_step_by_a_tenth() -> None:
    ours = space({RATE: {"log": [0.001, 0.1]}, MOMENTUM: {"real": [0, 0.9]}})
    assert ours.count() is None
    with pytest.raises(UserError, match=r"is infinite: axis training.optimiser.learning_rate"):
        ours.enumerate()
    near = list(ours.neighbours({RATE: 0.01, MOMENTUM: 0.0}))
    assert [point[MOMENTUM] for point in near] == [0.0, 0.0, pytest.approx(0.09)]
    for point, sign in zip(near[:2], (-1, 1), strict=True):
        assert isclose(log(float(point[RATE])), log(0.01) + sign * log(100) / 10)  # type: ignore[arg-type]


def test_a_point_must_fit_the_axes() -> None:
    ours = space({DEPTH: {"choice": [1, 3]}, GATE: {"choice": ["none"], "when": {DEPTH: [3]}}})
    for point, message in [
        ({}, "the point has no model.stack.depth"),
        ({DEPTH: 2}, r"model.stack.depth: got 2 \(allowed: 1, 3\)"),
        ({DEPTH: 1, GATE: "none"}, "inactive axis 'model.stack.shortcut.gate'"),
        ({DEPTH: 3}, "the point has no model.stack.shortcut.gate"),
    ]:
        assert not ours.allowed(point)  # type: ignore[arg-type]
        with pytest.raises(UserError, match=message):
            ours.config(point)  # type: ignore[arg-type]
    model = {"stack": {"kind": "recurrent", "depth": 1}}
    other = TrialConfig.model_validate({"model": model, "training": {"batch_size": 2}})
    with pytest.raises(UserError, match=r"training.batch_size: got 2 \(allowed: 1, since no axis varies it\)"):
        ours.point(other)


@pytest.mark.parametrize(
    ("axes", "constraints", "message"),
    [
        (
            {"model.stack.dpth": {"choice": [1]}},
            [],
            "unknown axis 'model.stack.dpth' (nearest: 'model.stack.depth'; allowed",
        ),
        ({"model.stack": {"choice": [{}]}, DEPTH: {"choice": [1]}}, [], "axis model.stack varies it too"),
        ({DEPTH: {"choice": [1]}, "model.stack": {"choice": [{}]}}, [], "axis model.stack varies it too"),
        ({DEPTH: {"choice": [1, -1]}}, [], "got -1 (allowed: an integer from 0)"),
        ({DEPTH: {"integer": [-1, 3]}}, [], "got -1 (allowed: an integer from 0)"),
        ({COMPOSITION: {"integer": [1, 6]}}, [], "got 6 (allowed: an integer from 0 to 5, or input, or a list"),
        (
            {DEPTH: {"real": [1, 3]}},
            [],
            "got uniform, any number between, for an integer (allowed: randint, log",
        ),
        ({HIDDEN: {"log": [1, 1001]}}, [], "got loguniform, any number between, for an integer (allowed: randint"),
        ({RATE: {"integer": [1, 3]}}, [], "the field is not an integer (allowed: choice, ordinal, uniform, log"),
        ({MOMENTUM: {"real": [0, 1]}}, [], "got 1.0 (allowed: a number from 0 below 1)"),
        ({GATE: {"choice": ["nnoe"]}}, [], "unknown value 'nnoe' (nearest: 'none'; allowed: none,"),
        ({GATE: {"choice": ["none", "none"]}}, [], 'value "none" occurs twice'),
        ({GATE: {"named": {"one": "none", "two": "none"}}}, [], 'value "none" occurs twice'),
        ({"data.scheme": {"choice": ["bio", "iob2"]}}, [], 'value "bio" occurs twice'),
        ({GATE: {"named": {"one": "nnoe"}}}, [], "unknown value 'nnoe' (nearest: 'none'; allowed: none,"),
        (
            {GATE: {"named": {"open": "none"}}, HIDDEN: {"choice": [1], "when": {GATE: ["linear"]}}},
            [],
            "which its axis never is (allowed: open (none))",
        ),
        ({"model.embedder.window": {"choice": [3, 4]}}, [], "got 4, allowed 0 or an odd number"),
        ({COMPOSITION: {"choice": [[0, 0, 1]]}}, [], "names 3 sources for 7 layers"),
        ({BETA: {"choice": [0.9]}}, [], "the base is of another kind (allowed: training.optimiser.kind, "),
        ({MOMENTUM: {"choice": [0]}, KIND: {"choice": ["sgd", "adam"]}}, [], "stands before training.optimiser.kind"),
        ({HIDDEN: {"choice": [1], "when": {"model.stack.dpth": [1]}}}, [], "unknown path 'model.stack.dpth'"),
        ({HIDDEN: {"choice": [1], "when": {DEPTH: [3]}}, DEPTH: {"choice": [3]}}, [], "axes declared before it"),
        ({HIDDEN: {"choice": [1], "when": {HIDDEN: [3]}}}, [], "axes declared before it"),
        ({DEPTH: {"choice": [1, 2]}, HIDDEN: {"choice": [1], "when": {DEPTH: [3]}}}, [], "never is (allowed: 1, 2)"),
        ({HIDDEN: {"choice": [1], "when": {DEPTH: [-1]}}}, [], "got -1 (allowed: an integer from 0)"),
        ({}, ["block_on_tpo"], "unknown constraint 'block_on_tpo' (nearest: 'block_on_top'"),
        ({}, ["block_on_top", "block_on_top"], "named 2 times"),
        ({DEPTH: {"choice": [2, 4]}}, ["block_on_top"], "no point of the space is allowed"),
    ],
)
def test_a_mistake_is_refused_in_one_line(axes: Any, constraints: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        space(axes, *constraints)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


SAMPLES = """
import numpy as np
from skipstack.spaces.space import Space, SpaceConfig
space = Space(SpaceConfig.model_validate({
    "axes": {"model.stack.depth": {"choice": [1, 3, 5]}, "training.optimiser.learning_rate": {"log": [0.001, 0.1]}},
    "constraints": ["block_on_top"],
}))
generator = np.random.default_rng(3)
print([space.sample(generator) for _ in range(5)])
"""


def test_another_process_draws_the_same_points(capsys: pytest.CaptureFixture[str]) -> None:
    exec(SAMPLES, {})
    other = subprocess.run([sys.executable, "-c", SAMPLES], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert other.stdout == capsys.readouterr().out
