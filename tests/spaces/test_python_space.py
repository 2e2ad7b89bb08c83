"""Spaces described in Python, and the names of domains of earlier versions."""

from enum import Enum, IntEnum, StrEnum
from typing import Any

import numpy as np
import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Choice, Integer, Log, Normal, Ordinal, Real
from skipstack.spaces.function import FunctionConfig, FunctionSource
from skipstack.spaces.given_points import given_point
from skipstack.spaces.space import Space

MAXIMISED, MINIMISED = "6a010a7482a5da6a", "516d228d63ef7a78"
"""The identities of a config in each direction, by the version before the names of today."""


def objective(config: Any, report: Any) -> None:
    """Never called."""


def test_a_space_in_python_is_the_one_of_its_mapping() -> None:
    space = skipstack.Space(
        {"optimiser.momentum": skipstack.uniform(0, 0.9, when={"optimiser.kind": ["sgd"]})},
        x=skipstack.uniform(0, 1),
        rate=skipstack.loguniform(1e-4, 1),
        depth=skipstack.randint(1, 3),
        layers=skipstack.choice(1, 2),
        names=skipstack.choice(["a", "b"]),
        size=skipstack.ordinal(["small", "large"]),
        width=skipstack.lograndint(8, 64, step=8),
        share=skipstack.uniform(0, 1, step=0.3),
        shift=skipstack.normal(0, 2),
        scale=skipstack.lognormal(-1, 0.5),
        epochs=3,
    )
    assert space.study["base"] == {"epochs": 3}
    found = skipstack.space(
        {
            "base": {"epochs": 3},
            "axes": {
                "x": {"uniform": [0, 1]},
                "rate": {"loguniform": [1e-4, 1]},
                "depth": {"randint": [1, 3]},
                "layers": {"choice": [1, 2]},
                "names": {"choice": ["a", "b"]},
                "size": {"ordinal": ["small", "large"]},
                "width": {"lograndint": [8, 64], "step": 8},
                "share": {"uniform": [0, 1], "step": 0.3},
                "shift": {"normal": [0, 2]},
                "scale": {"lognormal": [-1, 0.5]},
            },
        },
        objective,
    )
    assert found.domains == {
        "x": Real(0.0, 1.0),
        "rate": Log(1e-4, 1.0),
        "depth": Integer(1, 3),
        "layers": Choice((1, 2)),
        "names": Choice(("a", "b")),
        "size": Ordinal(("small", "large")),
        "width": Integer(8, 64, 8, log=True),
        "share": Real(0.0, 0.9, 0.3),
        "shift": Normal(0.0, 2.0),
        "scale": Normal(-1.0, 0.5, log=True),
    }
    assert {path: axis.domain for path, axis in space.axes.items() if "." not in path} == found.domains
    assert repr(skipstack.Space(x=skipstack.choice(1, 2), y=3)) == "Space(x: 1, 2; y = 3)"
    assert repr(skipstack.Space(x=skipstack.ordinal(1, 2), y=skipstack.uniform(0, 1, step=0.5))) == (
        "Space(x: 1 < 2; y: numbers from 0.0 to 1.0 in steps of 0.5)"
    )


def test_both_ends_of_randint_belong_to_it() -> None:
    """As in Python's ``random.randint`` and Optuna's ``suggest_int``; Ray Tune's excludes the upper end."""
    space = skipstack.space(skipstack.Space(n=skipstack.randint(1, 3)), objective)
    assert [point["n"] for point in space.enumerate()] == [1, 2, 3]


def test_a_space_of_networks_has_dotted_paths() -> None:
    axes = {"model.stack.depth": skipstack.choice(1, 3), "training.epochs": 4}
    space = skipstack.space(skipstack.Space(axes), constraints=["depth < 3"])
    assert [space.config(point).epochs for point in space.enumerate()] == [4]


@pytest.mark.parametrize(("now", "before"), [("uniform", "real"), ("loguniform", "log"), ("randint", "integer")])
def test_names_of_earlier_versions_are_read_and_recorded(now: str, before: str) -> None:
    """So ledgers of both versions have the same bytes."""
    ours, theirs = (Axis.model_validate({name: [1, 9], "prior": 3}) for name in (now, before))
    assert ours == theirs
    dumped = ours.model_dump(mode="json")
    assert list(dumped) == ["choice", "named", "integer", "real", "log", "prior", "when"]
    assert dumped[before] == [1, 9]
    assert Axis.model_validate(dumped) == ours
    study = {"axes": {"x": {before: [1, 9]}}}
    source = FunctionSource(name="f", file="f.py", source="0" * 16)
    assert load_study(study, function=source) == load_study({"axes": {"x": {now: [1, 9]}}}, function=source)


@pytest.mark.parametrize(("now", "before"), [("maximize", "maximise"), ("minimize", "minimise")])
def test_directions_have_the_names_that_others_use_and_identities_do_not_change(now: Any, before: Any) -> None:
    from skipstack.search.execution.driver.functions import source_of

    assert source_of(objective, now) == source_of(objective, before)
    source = FunctionSource(name="f", file="f.py", source="0123456789abcdef", direction=before)
    known = {"maximise": MAXIMISED, "minimise": MINIMISED}
    assert FunctionConfig.model_validate({"function": source, "x": 1}).identity == known[before]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: skipstack.uniform(1, 0), "uniform: got bounds"),
        (
            lambda: skipstack.loguniform(0, 1),
            r"loguniform: got bounds \[0.0, 1.0\] \(allowed for loguniform: bounds above 0",
        ),
        (lambda: skipstack.randint(1.5, 2), r"randint.0: got 1.5 \(allowed: an integer"),  # type: ignore[arg-type]
        (lambda: skipstack.choice(), r"choice: got \[\]"),
        (lambda: skipstack.ordinal(), r"ordinal: got \[\]"),
        (lambda: skipstack.uniform(0, 1, step=-0.1), "uniform: got the step -0.1 \\(allowed: above 0"),
        (lambda: skipstack.lognormal(0, -1), "lognormal: got the standard deviation -1.0 \\(allowed: above 0"),
        (lambda: skipstack.Space({"x": 1}, x=2), "got x twice"),
        (lambda: skipstack.search(skipstack.Space(x=1), objective, direction="up"), "allowed: maximize, minimize"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_is_told_in_one_line(wrong: Any, message: str) -> None:
    with pytest.raises(skipstack.UserError, match=message):
        wrong()


class Size(IntEnum):
    SMALL = 8


class Cell(StrEnum):
    GRU = "gru"


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize("fixed", [{"a": 1, "a.b": 2}, {"a.b": 2, "a": 1}])
def test_a_value_within_another_value_is_refused(fixed: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"got values for a and for a\.b \(allowed: one of them"):
        skipstack.Space(fixed)


def test_values_within_a_mapping_are_added_to_it_in_any_order() -> None:
    for fixed in ({"a": {"b": 1}, "a.c": 2}, {"a.c": 2, "a": {"b": 1}}):
        space = skipstack.Space(fixed)
        assert space.study["base"] == {"a": {"b": 1, "c": 2}}
        assert space.fixed == fixed


@pytest.mark.parametrize("axis", [skipstack.uniform(0, 1), skipstack.normal(0, 1), skipstack.randint(0, 1)])
def test_an_integer_that_no_float_can_hold_is_refused(axis: Axis) -> None:
    huge, source = 10**400, FunctionSource(name="objective", file="mine.py", source="0" * 16)

    def space(prior: Any = None, **base: Any) -> Space:
        axes = {"x": axis.model_copy(update={"prior": prior})}
        return Space(load_study({"name": "s", "base": base, "axes": axes}, function=source)[0].space)

    with pytest.raises(UserError, match=r"x: got 10{9,}"):
        given_point(space(), {"x": huge})
    with pytest.raises(UserError, match=r"x: got 10{9,}"):
        space(x=huge)
    with pytest.raises(UserError, match=r"prior: got 10{9,}"):
        space(prior=huge)


def test_an_axis_that_a_point_gives_by_two_names_is_refused() -> None:
    space = skipstack.space(skipstack.Space({"net.units": skipstack.choice(8, 16)}), objective)
    assert given_point(space, {"units": 16}) == given_point(space, {"net.units": 16}) == {"net.units": 16}
    for point in ({"units": 16, "net.units": 8}, {"net.units": 8, "units": 8}):
        with pytest.raises(UserError, match=r"^net.units: the axis is given twice, by two names \(allowed: once\)$"):
            given_point(space, point)


def test_values_of_numpy_tuples_and_enums_that_equal_json_values_are_those() -> None:
    values = [np.int64(0), np.float32(0.5), np.bool_(True), np.str_("a"), (3, (5, np.int8(1))), Size.SMALL, Cell.GRU]
    plain = [0, 0.5, True, "a", [3, [5, 1]], 8, "gru"]
    axis = skipstack.choice(*values, prior=np.int64(0), when={"k": (np.int64(1),)})
    assert axis == skipstack.choice(*plain, prior=0, when={"k": [1]})
    assert isinstance(axis.domain, Choice)
    assert canonical_json(list(axis.domain.values)) == canonical_json(plain)
    assert skipstack.choice(np.arange(3)) == skipstack.choice(0, 1, 2)
    assert skipstack.randint(np.int64(1), np.int64(3)) == skipstack.randint(1, 3)
    assert skipstack.Space(sizes=(np.int64(1), 2)).study["base"] == {"sizes": [1, 2]}
    base = skipstack.space({"base": {"n": np.int64(2)}, "axes": {"x": {"choice": (np.int64(1),)}}}, objective)
    assert base.domains == {"x": Choice((1,))}
    with pytest.raises(UserError, match=r"choice: got Colour.RED \(allowed: JSON values, as Colour.RED.value or"):
        skipstack.choice(Colour.RED)


@pytest.mark.timeout(60)
def test_the_size_of_a_domain_costs_no_more_than_its_values() -> None:
    """A domain is made once, not once a value; and what is only walked is not listed."""
    space = skipstack.space(skipstack.Space(x=skipstack.choice(*range(20_000))), objective)
    (last,) = space.point(space.config({"x": 19_999})).values()
    assert last == 19_999
    walk = skipstack.space(skipstack.Space(x=skipstack.randint(0, 10**12), y=1), objective).one_at_a_time()
    assert [next(walk)["x"] for _ in range(3)] == [5 * 10**11, 0, 1]


def test_an_axis_without_the_new_keys_is_recorded_as_before() -> None:
    """So a ledger keeps its bytes, and an earlier version reads it."""
    for axis in (skipstack.randint(1, 9), skipstack.choice(1, 2), skipstack.uniform(0, 1, prior=0.5)):
        assert list(axis.model_dump(mode="json")) == ["choice", "named", "integer", "real", "log", "prior", "when"]
    assert skipstack.lograndint(2, 8, step=2).model_dump(mode="json")["step"] == 2


def test_an_axis_that_the_base_says_nothing_of_has_the_middle_of_its_values() -> None:
    space = skipstack.Space(
        size=skipstack.ordinal("s", "m", "l"),
        width=skipstack.lograndint(1, 100),
        share=skipstack.uniform(0, 1, step=0.25),
        shift=skipstack.normal(3, 2),
        scale=skipstack.lognormal(0, 1),
    )
    base = skipstack.space(space, objective).base_point()
    assert base == {"size": "m", "width": 10, "share": 0.5, "shift": 3.0, "scale": 1.0}


def test_spaces_of_steps_are_enumerated_and_normal_ones_are_not() -> None:
    space = skipstack.Space(rate=skipstack.uniform(0, 0.3, step=0.1), size=skipstack.ordinal(1, 2))
    points = [tuple(point.values()) for point in skipstack.space(space, objective).enumerate()]
    assert points == [(rate, size) for rate in (0.0, 0.1, 0.2, 0.3) for size in (1, 2)]
    endless = skipstack.space(skipstack.Space(x=skipstack.normal(0, 1)), objective)
    with pytest.raises(UserError, match=r"axis x has numbers with a normal distribution .*allowed where all points"):
        next(endless.enumerate())
    assert endless.contains(endless.config({"x": 1e6}))


def test_numbers_that_were_computed_are_those_of_their_steps() -> None:
    axes = skipstack.Space(rate=skipstack.uniform(0, 1, step=0.1), n=skipstack.randint(1, 9, step=2))
    space = skipstack.space(axes, objective)
    assert given_point(space, {"rate": 0.1 * 3, "n": 3}) == {"rate": 0.3, "n": 3}
    for wrong, said in (({"rate": 0.35}, "rate: got 0.35 .*in steps of 0.1"), ({"n": 4}, "n: got 4 .*steps of 2")):
        with pytest.raises(UserError, match=said):
            given_point(space, wrong)
    fixed = {"base": {"rate": 0.1 * 7}, "axes": axes.axes}
    assert skipstack.space(fixed, objective).base_point() == {"rate": 0.7, "n": 5}
