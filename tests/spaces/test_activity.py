"""Axes whose fields no configuration has, and axes that never vary, against every combination tried one by one."""

from typing import Any

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.activity import check_active, condition
from skipstack.spaces.counting import count
from tests.spaces.test_counting import NESTED, generator
from tests.spaces.test_space import BETA, DEPTH, GATE, HIDDEN, KIND, MOMENTUM, RATE, space

HEAD, DROPOUT = "model.head.kind", "model.head.dropout"
TWO: dict[str, Any] = {"choice": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (
            {HEAD: {"choice": ["softmax", "crf"]}, DROPOUT: TWO},
            f"axis {DROPOUT}: no configuration has this field; {HEAD} would have to be biaffine (its axis has softmax, "
            "crf) (nearest: 'model.stack.dropout'; allowed: model.head.kind)",
        ),
        (
            {HEAD: {"choice": ["softmax", "crf"]}, DROPOUT: TWO | {"when": {HEAD: ["crf"]}}},
            "would have to be biaffine",
        ),
        (
            {"model.embedder.kind": {"choice": ["tokens", "one_hot"]}, "model.embedder.convolutions.width": TWO},
            "unknown axis",
        ),
        (
            {"model.stack.skip.kind": {"choice": [None, "fixed"]}, "model.stack.skip.share": TWO},
            "no configuration has this field; model.stack.skip.kind would have to be dynamic (its axis has null, ",
        ),
        ({"model.dropout": TWO}, "(nearest: 'model.stack.dropout'; allowed: model.embedder, "),
    ],
)
def test_an_axis_over_a_field_that_no_configuration_has_is_refused(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        load_study({"axes": {HIDDEN: {"choice": [4, 8]}, **axes}})
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_setting_of_an_unknown_field_is_refused_with_the_same_advice() -> None:
    with pytest.raises(UserError, match=r"nearest: 'model\.stack\.dropout'"):
        load_study("tagger", overrides=["model.dropout=0.1"])


@pytest.mark.parametrize("axes", NESTED)
def test_no_axis_that_varies_anywhere_is_refused(axes: dict[str, Any]) -> None:
    check_active(space(axes))


def test_an_axis_whose_condition_is_never_met_is_counted_as_none_that_varies() -> None:
    """A study fixes the depth of what it extends: the gate of deeper stacks is left over."""
    axes = {
        HIDDEN: {"choice": [4, 8]},
        GATE: {"choice": ["none", "sigmoid_below"], "when": {DEPTH: [3]}},
        RATE: {"log": [0.001, 0.1], "when": {DEPTH: [3]}},
    }
    subject = space(axes, base={"model": {"stack": {"kind": "recurrent", "depth": 1}}})
    check_active(subject)
    counted = count(subject, generator())
    assert (counted.combinations, counted.allowed, counted.continuous, counted.idle) == (2, 2, (), (GATE, RATE))


def test_an_axis_says_which_kinds_have_its_field() -> None:
    subject = space(
        {
            KIND: {"choice": ["sgd", "adam"]},
            MOMENTUM: {"choice": [0, 0.9]},
            BETA: {"choice": [0.8, 0.9], "when": {HIDDEN: [4], KIND: ["adam"]}},
            RATE: {"choice": [0.1]},
        }
    )
    assert [condition(subject, path) for path in (KIND, MOMENTUM, RATE)] == ["", f"{KIND} is sgd", ""]
    assert condition(subject, BETA) == f"{KIND} is adam and {HIDDEN} is 4"
