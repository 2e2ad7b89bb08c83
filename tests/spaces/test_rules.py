"""Spaces with constraints of a study's own against a plain filter, which asks Python itself."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from skipstack.data.basis.errors import UserError
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.checks import SpaceError
from skipstack.spaces.constraint_functions import ConstraintFunction, constraint_function
from skipstack.spaces.counting import count
from skipstack.spaces.function import FunctionSource
from skipstack.spaces.space import Point, Space, SpaceConfig

SOURCE = FunctionSource(name="objective", file="mine.py", source="0" * 16)

AXES: dict[str, Any] = {
    "a": {"integer": [1, 5]},
    "b": {"choice": [1, 2, 4, 8]},
    "kind": {"choice": ["sgd", "adam"]},
    "momentum": {"choice": [0, 3, 9], "when": {"kind": ["sgd"]}},
    "c": {"integer": [0, 3]},
}
TEXTS = [
    "a * b < 12",
    "a + c == 4",
    "b in (a, 2 * a)",
    "kind == 'adam' or a > 2",
    "momentum < a",
    "momentum * b != c",
    "not (a < b <= 4)",
    "max(a, c) - min(a, c) <= 1",
    "a % 2 == c % 2",
]


def loaded(
    axes: dict[str, Any], texts: list[str], *functions: ConstraintFunction, base: dict[str, Any] | None = None
) -> SpaceConfig:
    mapping = {"axes": axes, "constraints": texts, "base": base or {}}
    return load_study(mapping, function=SOURCE, constraints=functions)[0].space


def everything(axes: dict[str, Any]) -> Iterator[Point]:
    """Every combination of the values of active axes, without the space's own code."""
    values = {
        path: axis["choice"] if "choice" in axis else list(range(axis["integer"][0], axis["integer"][1] + 1))
        for path, axis in axes.items()
    }
    seen = []
    for chosen in product(*values.values()):
        point = dict(zip(axes, chosen, strict=True))
        for path, axis in axes.items():
            if any(point.get(on) not in allowed for on, allowed in axis.get("when", {}).items()):
                del point[path]
        if point not in seen:
            seen.append(point)
            yield point


def by_python(text: str, point: Point, fixed: Point) -> bool:
    """What Python says of a rule; a name that is not there makes it hold."""
    try:
        return bool(eval(text, {"__builtins__": {}, "max": max, "min": min}, {**fixed, **point}))
    except NameError:
        return True


@st.composite
def descriptions(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    fixed = draw(st.sets(st.sampled_from(["a", "b", "c"]), max_size=2))
    axes = {path: axis for path, axis in AXES.items() if path not in fixed}
    return axes, draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True))


FIXED: Point = {"a": 3, "b": 2, "c": 1}


@pytest.mark.slow
@given(descriptions(), st.integers(0, 9))
def test_a_space_is_what_a_filter_leaves(described: tuple[dict[str, Any], list[str]], seed: int) -> None:
    axes, texts = described
    fixed = {path: value for path, value in FIXED.items() if path not in axes}
    wanted = [point for point in everything(axes) if all(by_python(text, point, fixed) for text in texts)]
    if not wanted:
        with pytest.raises(UserError, match=r"never holds|keep"):
            loaded(axes, texts, base=fixed)
        return
    space = Space(loaded(axes, texts, base=fixed))
    assert list(space.enumerate()) == wanted
    assert space.count() == len(wanted)
    assert count(space, np.random.default_rng(seed)).allowed == len(wanted)
    generator = np.random.default_rng(seed)
    for _ in range(5):
        assert space.sample(generator) in wanted
        wish = space.compose(lambda path, domain: domain.sample(generator))
        near = space.repaired(wish, generator)
        assert near in wanted
        assert wish not in wanted or near == wish


@pytest.mark.slow
@given(descriptions(), st.integers(0, 9))
def test_of_a_large_block_nothing_is_listed_and_the_same_holds(
    described: tuple[dict[str, Any], list[str]], seed: int
) -> None:
    axes, texts = described
    fixed = {path: value for path, value in FIXED.items() if path not in axes}
    wanted = [point for point in everything(axes) if all(by_python(text, point, fixed) for text in texts)]
    assume(wanted)
    space = Space(loaded(axes, texts, base=fixed))
    for block in space._blocks:
        block.__dict__["listed"] = None
    assert list(space.enumerate()) == wanted
    generator = np.random.default_rng(seed)
    for _ in range(5):
        assert space.sample(generator) in wanted
        assert space.repaired(space.compose(lambda path, domain: domain.sample(generator)), generator) in wanted


@pytest.mark.first(1)
@pytest.mark.parametrize("lists", [True, False])
def test_a_draw_has_the_distribution_of_draws_that_are_repeated_until_the_rules_hold(lists: bool) -> None:
    """Pearson's statistic over all allowed points, at most four of its standard deviations above its mean."""
    space = Space(loaded(AXES, ["momentum < a", "b in (a, 2 * a)"]))
    if not lists:
        for block in space._blocks:
            block.__dict__["listed"] = None
    odds: dict[str, float] = {}
    for point in everything(AXES):
        if by_python("momentum < a and b in (a, 2 * a)", point, {}) and by_python("b in (a, 2 * a)", point, {}):
            odds[str(point)] = 1 / 3 if "momentum" in point else 1.0
    draws, generator = 4000, np.random.default_rng(0)
    found = Counter(str(space.sample(generator)) for _ in range(draws))
    assert found.keys() <= odds.keys()
    total = sum(odds.values())
    statistic = sum((found[text] - draws * each / total) ** 2 / (draws * each / total) for text, each in odds.items())
    freedom = len(odds) - 1
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5


def test_integers_by_logarithm_are_drawn_by_their_weights_where_rules_hold() -> None:
    """The shares of the allowed points are the products of the weights of their values."""
    space = Space(loaded({"a": {"lograndint": [1, 6]}, "b": {"lograndint": [1, 8], "step": 1}}, ["a + b != 4"]))
    one, other = space.domains.values()
    points = [(a, b) for a in range(1, 7) for b in range(1, 9) if a + b != 4]
    assert [tuple(point.values()) for point in space.enumerate()] == points
    odds = np.array([one.weight(a) * other.weight(b) for a, b in points])
    generator = np.random.default_rng(0)
    found = Counter(tuple(space.sample(generator).values()) for _ in range(8000))
    assert stats.chisquare([found[point] for point in points], 8000 * odds / odds.sum()).pvalue > 0.001


def test_a_rule_holds_where_an_axis_that_it_names_is_inactive() -> None:
    space = Space(loaded(AXES, ["momentum == 9 and a == 5"]))
    assert {point["kind"] for point in space.enumerate() if point["a"] < 5} == {"adam"}
    assert {point["momentum"] for point in space.enumerate() if "momentum" in point} == {9}


def test_axes_of_no_rule_are_drawn_as_ever() -> None:
    axes = {**AXES, "x": {"real": [0.0, 1.0]}}
    drawn = [Space(loaded(axes, texts)).sample(np.random.default_rng(3)) for texts in ([], ["x < 2"])]
    assert drawn[0].keys() - {"momentum"} == drawn[1].keys() - {"momentum"}


def test_one_in_ten_thousand_is_found() -> None:
    axes = {name: {"real": [0.0, 1.0]} for name in "pqrs"}
    space = Space(loaded(axes, ["p < 0.1 and q < 0.1 and r < 0.1 and s < 0.1"]))
    point = space.sample(np.random.default_rng(0))
    assert all(isinstance(value, float) and value < 0.1 for value in point.values())


def test_rules_of_different_axes_are_kept_one_by_one() -> None:
    """A millionth of the space keeps all three; a hundredth of each block keeps its rule."""
    axes = {name: {"real": [0.0, 1.0]} for name in "pqr"}
    space = Space(loaded(axes, [f"{name} < 0.01" for name in "pqr"]))
    assert len(space._blocks) == 3
    assert space.allowed(space.sample(np.random.default_rng(0)))


def test_short_names_are_recorded_in_full() -> None:
    axes = {"model.depth": {"integer": [1, 3]}, "optimiser.kind": {"choice": ["sgd", "adam"]}}
    config = loaded(axes, ["depth < 3 or optimiser == 'sgd'"])
    assert config.constraints == ("model.depth < 3 or optimiser.kind == 'sgd'",)
    assert loaded(axes, list(config.constraints)) == config


def test_a_network_has_rules_over_its_axes_and_its_fields() -> None:
    study = {
        "base": {"model": {"stack": {"composition": 2}}},
        "axes": {
            "model.stack.hidden": {"choice": [10, 100, 1000]},
            "model.stack.depth": {"choice": [1, 3, 5]},
            "training.optimiser.kind": {"choice": ["sgd", "adam"]},
            "training.optimiser.momentum": {"choice": [0.0, 0.9], "when": {"training.optimiser.kind": ["sgd"]}},
        },
        "constraints": [
            "block_on_top",
            "stack.hidden * depth <= 100 * training.batch_size",
            "momentum == 0 or hidden > 10",
        ],
    }
    space = Space(load_study(study)[0].space)
    found = list(space.enumerate())
    assert all(point["model.stack.hidden"] * point["model.stack.depth"] <= 100 for point in found)
    assert {point["model.stack.hidden"] for point in found if point.get("training.optimiser.momentum")} == {100}
    assert len(found) == 9  # 10 by 1, 3 and 5 layers and 100 by 1, by Adam or SGD; of 100 also with momentum


def three(a: int, b: int, c: int) -> bool:
    """A constraint of three axes."""
    return a + b + c == 10


def wrong(a: int, unheard: int) -> bool:
    """A constraint that names no axis."""
    return a < unheard


LIMIT = 10


def limited(a: int, b: int) -> bool:
    """A constraint that reads a value from around it."""
    return a * b < LIMIT


def test_a_function_is_a_rule_over_the_axes_that_its_parameters_name() -> None:
    config = loaded(AXES, [], constraint_function(three))
    assert config.constraints == ("three",)
    wanted = [point for point in everything(AXES) if point["a"] + point["b"] + point["c"] == 10]
    assert list(Space(config).enumerate()) == wanted
    assert SpaceConfig.model_validate_json(config.model_dump_json()) == config


def test_a_function_with_another_value_around_it_is_another_constraint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = constraint_function(limited)
    assert before.reads == {"LIMIT": 10}
    monkeypatch.setitem(globals(), "LIMIT", 11)
    assert constraint_function(limited) != before


def test_a_space_is_read_without_the_code_of_its_constraints_and_allows_nothing_then() -> None:
    record = constraint_function(three).model_copy(update={"source": "def three(a, b, c): ...", "name": "unknown"})
    space = Space(loaded(AXES, []).model_copy(update={"constraint_functions": (record,), "constraints": ("unknown",)}))
    point = next(space.everything())
    assert space.refusal(point) == "constraint unknown: its code is not loaded"
    assert space.config(point).identity
    with pytest.raises(UserError, match="100 % are refused: constraint unknown: its code is not loaded"):
        space.sample(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["a * bb < 3"],
            r"constraint 'a \* bb < 3': unknown axis 'bb' \(nearest: 'b'; allowed: a, b, kind, momentum, c\)",
        ),
        (["knd"], r"unknown constraint 'knd' \(nearest: 'kind'; allowed: a, b, kind, momentum, c\)"),
        (["a * b"], r"constraint a \* b at a \d, b \d: got \d+ \(allowed: true or false\)"),
        (["a < kind"], r"constraint a < kind at a \d, kind '\w+' cannot be computed: TypeError"),
        (["a / c < 2"], r"constraint a / c < 2 at a \d, c 0 cannot be computed: ZeroDivisionError"),
        (["a > 5"], "constraint a > 5: no values of a keep it"),
        (["1 < 2"], r"got no axis \(allowed: an expression with names of axes\)"),
        (["a < 3", "a < 3"], r"constraint 'a < 3' is named 2 times \(allowed: once\)"),
        (["block_on_top"], r"constraint block_on_top is a condition on networks \(allowed for a function: expressions"),
    ],
)
def test_a_wrong_rule_is_refused_before_anything_is_proposed(texts: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        loaded(AXES, texts)


NETWORK = {
    "training.optimiser.kind": {"choice": ["sgd", "adam"]},
    "training.optimiser.momentum": {"uniform": [0.0, 0.9]},
    "model.stack.depth": {"choice": [1, 3]},
    "model.embedder.dropout": {"choice": [0.0, 0.5]},
}


@pytest.mark.parametrize(
    ("axes", "text", "told"),
    [
        (NETWORK, "optimiser == 'sdg' or depth < 3", "optimiser: unknown value 'sdg' (nearest: 'sgd'; allowed: "),
        (NETWORK, "optimiser in ['adam', 'sdg']", "optimiser: unknown value 'sdg' (nearest: 'sgd'; allowed: "),
        (NETWORK, "'sdg' != optimiser", "optimiser: unknown value 'sdg' (nearest: 'sgd'; allowed: "),
        (NETWORK, "momentum > 2", "momentum: got 2 (allowed: a number from 0 below 1)"),
        (NETWORK, "depth == 1 or 2 <= momentum", "momentum: got 2 (allowed: a number from 0 below 1)"),
        (NETWORK, "depth == '3'", "depth: got '3' (allowed: 3, as configs have it)"),
        (AXES, "kind == 'amad' or a < 3", "kind: unknown value 'amad' (nearest: 'adam'; allowed: sgd, adam)"),
        (AXES, "b == 3 or a < 3", "b: got 3 (allowed: 1, 2, 4, 8)"),
        (AXES, "a > 7 or c == 0", "a: got 7 (allowed: integers from 1 to 5)"),
    ],
)
def test_a_comparison_with_a_value_that_its_name_never_has_is_refused(axes: Any, text: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        load_study({"axes": axes, "constraints": [text]}) if axes is NETWORK else loaded(axes, [text])
    assert f"constraint {text}: {told}" in str(refused.value).replace('"3"', "'3'")


def test_a_base_that_a_constraint_removes_is_told_with_the_constraint() -> None:
    axes = {"a": {"randint": [1, 5]}, "b": {"choice": [1, 2]}}
    removed = Space(loaded(axes, ["a > 3"], base={"a": 2, "b": 1}))
    assert removed.base_removed_by == "constraint a > 3"
    assert Space(loaded(axes, ["a > 1"], base={"a": 2, "b": 1})).base_removed_by is None
    assert Space(loaded(axes, ["a > 3"], base={"a": 7, "b": 1})).base_removed_by is None


@pytest.mark.parametrize("text", ["dropout < 1", "depth == 3.0 or depth == 1", "optimiser == 'adagrad' or depth < 7"])
def test_a_comparison_that_says_nothing_false_is_accepted(text: str) -> None:
    assert load_study({"axes": NETWORK, "constraints": [text]})[0].space.constraints


def test_a_short_name_of_several_axes_is_refused() -> None:
    axes = {"encoder.depth": {"integer": [1, 3]}, "decoder.depth": {"integer": [1, 3]}}
    with pytest.raises(UserError, match=r"depth may mean encoder.depth and decoder.depth"):
        loaded(axes, ["depth < 3"])
    assert Space(loaded(axes, ["encoder.depth < decoder.depth"])).count() == 3


def test_what_no_function_can_be_is_refused() -> None:
    with pytest.raises(UserError, match=r"constraint wrong of test_rules.py: unknown axis 'unheard'"):
        loaded(AXES, [], constraint_function(wrong))
    for function, message in (
        (lambda a: a < 3, "got a lambda"),
        (abs, "got <built-in function abs>"),
        (nothing, "got no parameter"),
        (many, r"got a parameter \*a"),
    ):
        with pytest.raises(UserError, match=message):
            constraint_function(function)

    def early(a: int) -> bool:
        return a < limit

    with pytest.raises(UserError, match=r"^constraints: early reads limit before it has a value \(allowed: "):
        constraint_function(early)
    limit = 3
    assert constraint_function(early).reads == {"limit": 3}


def nothing() -> bool:
    """No constraint."""
    return True


def many(*a: int) -> bool:
    """No constraint."""
    return bool(a)


def test_a_mistake_has_the_line_of_its_constraint(tmp_path: Any) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("axes:\n  model.stack.depth: {choice: [1, 3]}\nconstraints:\n  - block_on_top\n  - dpth < 3\n")
    with pytest.raises(UserError, match=r"mine.yaml:5: constraint 'dpth < 3': unknown axis 'dpth' \(nearest: 'depth'"):
        load_study(file)
    with pytest.raises(UserError, match=r"mine.yaml:5: "):
        load_study(file, overrides=["constraints+=depth < 5"])
    file.write_text("axes:\n  model.stack.depth: {choice: [1, 3]}\nconstraints: [block_on_top]\n")
    with pytest.raises(UserError, match=r"--set constraints\+=dpth < 3: constraint 'dpth < 3'"):
        load_study(file, overrides=["constraints+=dpth < 3"])


def test_a_space_error_says_which_constraint() -> None:
    base = {"function": SOURCE.model_dump(), "a": 1}
    with pytest.raises(SpaceError) as refused:
        Space(SpaceConfig.model_validate({"base": base, "axes": {"a": AXES["a"]}, "constraints": ["a < 3", "b < 3"]}))
    assert refused.value.where == ("constraints", 1)


@pytest.mark.parametrize("path", ["layer-1.size", "class.size", "a b.size", "a-m.size"])
def test_a_short_name_stays_where_the_whole_path_is_no_name_of_an_expression(path: str) -> None:
    """``a-m.size < 3`` would be a subtraction of another axis and a field."""
    axes = {"a": {"choice": [1]}, "m.other": {"choice": [5]}, path: {"choice": [1, 2, 3]}}
    given = {"name": "s", "base": {"m": {"size": 1}}, "axes": axes, "constraints": ["size < 3", "other > a"]}
    study, _ = load_study(given, function=SOURCE)
    assert [point[path] for point in Space(study.space).enumerate()] == [1, 2]
    assert study.space.constraints == ("size < 3", "m.other > a")
