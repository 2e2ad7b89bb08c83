"""Spaces described in Python, and the names of domains of earlier versions."""

from typing import Any

import pytest

import skipstack
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Choice, Integer, Log, Real
from skipstack.spaces.function import FunctionConfig, FunctionSource

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
    }
    assert {path: axis.domain for path, axis in space.axes.items() if "." not in path} == found.domains
    assert repr(skipstack.Space(x=skipstack.choice(1, 2), y=3)) == "Space(x: 1, 2; y = 3)"


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
        (lambda: skipstack.Space({"x": 1}, x=2), "got x twice"),
        (lambda: skipstack.search(skipstack.Space(x=1), objective, direction="up"), "allowed: maximize, minimize"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_is_told_in_one_line(wrong: Any, message: str) -> None:
    with pytest.raises(skipstack.UserError, match=message):
        wrong()
