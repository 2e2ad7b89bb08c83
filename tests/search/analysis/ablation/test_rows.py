"""The rows of an ablation, against those that are written out by hand."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.rows import changed, rows, space_of_rows
from skipstack.search.ledger.events import Role
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.changes import changes
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.space import Point, Space
from tests.search.strategy.proposers.histories import BETA1, COMPOSITION, DEPTH, HIDDEN, KIND, MOMENTUM, RATE

GATE = "model.stack.shortcut.gate"
BASE: dict[str, Any] = {
    "model": {"stack": {"kind": "recurrent", "depth": 1, "hidden": 8}},
    "training": {"optimiser": {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.0}},
}


def spelt(
    config: Mapping[str, Any], *winners: Point, without: tuple[str, ...] = ()
) -> tuple[dict[str, Point], dict[str, str]]:
    """The points of the rows, and why others are left out, by role: ``base``, ``winner 0``, ``without 0 PATH``."""
    given = SpaceConfig.model_validate(config)
    space = Space(space_of_rows(given, winners))
    found = rows(space, dict(enumerate(winners)), without=without)
    named = {called(role): row.point for row in found.rows for role in row.roles}
    return named, {called(left.role): left.why for left in found.left_out}


def called(role: Role) -> str:
    return " ".join(str(each) for each in (role.kind, role.winner, role.axis) if each is not None)


def test_each_change_is_taken_back_and_stands_alone() -> None:
    axes = {DEPTH: {"choice": [1, 3]}, HIDDEN: {"integer": [4, 64]}, RATE: {"log": [0.01, 1.0]}}
    base: Point = {DEPTH: 1, HIDDEN: 8, RATE: 0.1}
    winner: Point = {DEPTH: 3, HIDDEN: 8, RATE: 0.7123}
    named, left_out = spelt({"base": BASE, "axes": axes}, winner)
    assert left_out == {}
    assert named == {
        "base": base,
        "winner 0": winner,
        f"without 0 {DEPTH}": winner | {DEPTH: 1},
        f"without 0 {RATE}": winner | {RATE: 0.1},
        f"alone 0 {DEPTH}": base | {DEPTH: 3},
        f"alone 0 {RATE}": base | {RATE: 0.7123},
    }


def test_several_changes_are_taken_back_at_once_with_what_they_had_activated() -> None:
    axes = {
        DEPTH: {"choice": [1, 5]},
        COMPOSITION: {"choice": [2, 5], "when": {DEPTH: [5]}},
        HIDDEN: {"integer": [4, 64]},
        RATE: {"log": [0.01, 1.0]},
    }
    winner: Point = {DEPTH: 5, COMPOSITION: 5, HIDDEN: 16, RATE: 0.7123}
    both = f"{DEPTH}, {RATE}"
    named, left_out = spelt({"base": BASE, "axes": axes}, winner, without=("model.stack", both, "model.sta"))
    assert left_out == {f"alone 0 {COMPOSITION}": f"{COMPOSITION} varies only where {DEPTH} is 5"}
    several = {role: point for role, point in named.items() if role.startswith("without_several")}
    assert several == {
        "without_several 0 model.stack": {DEPTH: 1, HIDDEN: 8, RATE: 0.7123},
        f"without_several 0 {both}": {DEPTH: 1, HIDDEN: 16, RATE: 0.1},
    }


def test_what_a_change_activates_follows_and_is_a_change_only_where_it_is_not_what_follows() -> None:
    axes = {DEPTH: {"choice": [1, 3, 5]}, COMPOSITION: {"choice": [2, 5], "when": {DEPTH: [5]}}}
    base: Point = {DEPTH: 1}
    named, left_out = spelt({"base": BASE, "axes": axes}, {DEPTH: 5, COMPOSITION: 2})
    assert named["winner 0"] == named[f"alone 0 {DEPTH}"] == {DEPTH: 5, COMPOSITION: 2}
    assert named["base"] == named[f"without 0 {DEPTH}"] == base
    assert f"without 0 {COMPOSITION}" not in named
    named, left_out = spelt({"base": BASE, "axes": axes}, {DEPTH: 5, COMPOSITION: 5})
    assert named == {
        "base": base,
        "winner 0": {DEPTH: 5, COMPOSITION: 5},
        f"without 0 {DEPTH}": base,
        f"without 0 {COMPOSITION}": {DEPTH: 5, COMPOSITION: 2},
        f"alone 0 {DEPTH}": {DEPTH: 5, COMPOSITION: 2},
    }
    assert left_out == {f"alone 0 {COMPOSITION}": f"{COMPOSITION} varies only where {DEPTH} is 5"}


def test_another_kind_brings_its_own_fields_and_takes_those_of_the_old_one_away() -> None:
    axes = {
        KIND: {"choice": ["sgd", "adam"]},
        MOMENTUM: {"real": [0.0, 0.9]},
        BETA1: {"choice": [0.8, 0.9]},
        RATE: {"choice": [0.1, 0.2]},
    }
    winner: Point = {KIND: "adam", BETA1: 0.9, RATE: 0.2}
    named, left_out = spelt({"base": BASE, "axes": axes}, winner)
    assert named == {
        "base": {KIND: "sgd", MOMENTUM: 0.0, RATE: 0.1},
        "winner 0": winner,
        f"without 0 {KIND}": {KIND: "sgd", MOMENTUM: 0.0, RATE: 0.2},
        f"without 0 {BETA1}": winner | {BETA1: 0.8},
        f"without 0 {RATE}": winner | {RATE: 0.1},
        f"alone 0 {KIND}": {KIND: "adam", BETA1: 0.8, RATE: 0.1},
        f"alone 0 {RATE}": {KIND: "sgd", MOMENTUM: 0.0, RATE: 0.2},
    }
    assert left_out == {f"alone 0 {BETA1}": f"{BETA1} varies only where {KIND} is adam"}


def test_a_row_that_a_constraint_refuses_is_left_out_and_says_so() -> None:
    axes = {DEPTH: {"choice": [1, 2, 3]}, COMPOSITION: {"choice": [1, 2]}}
    config = {"base": BASE, "axes": axes, "constraints": ["shortcut_in_use"]}
    named, left_out = spelt(config, {DEPTH: 2, COMPOSITION: 1})  # composition 2 has no shortcut at depth 2
    assert set(named) == {"base", "winner 0", f"without 0 {DEPTH}", f"alone 0 {COMPOSITION}"}
    assert set(left_out) == {f"without 0 {COMPOSITION}", f"alone 0 {DEPTH}"}
    assert all(why.startswith("constraint shortcut_in_use: ") for why in left_out.values())


def test_a_base_that_the_space_does_not_have_still_is_the_base() -> None:
    tree = {**BASE, "model": {"stack": {"kind": "recurrent", "depth": 2, "hidden": 100, "composition": 2}}}
    axes = {DEPTH: {"choice": [3, 4]}, HIDDEN: {"integer": [4, 64]}}
    config = {"base": tree, "axes": axes, "constraints": ["shortcut_in_use"]}  # which the base does not meet
    named, left_out = spelt(config, {DEPTH: 3, HIDDEN: 16})
    assert left_out == {}
    assert named["base"] == {DEPTH: 2, HIDDEN: 100}
    assert named[f"without 0 {HIDDEN}"] == {DEPTH: 3, HIDDEN: 100}
    assert named[f"alone 0 {HIDDEN}"] == {DEPTH: 2, HIDDEN: 16}


def test_values_keep_their_names_and_equal_configs_of_several_winners_are_one_row() -> None:
    axes = {DEPTH: {"named": {"deep": 3, "deeper": 5}}, HIDDEN: {"choice": [8, 16]}}
    winners: list[Point] = [{DEPTH: 3, HIDDEN: 16}, {DEPTH: 5, HIDDEN: 16}]
    config = SpaceConfig.model_validate({"base": BASE, "axes": axes})
    space_config = space_of_rows(config, winners)
    assert space_config.axes[DEPTH].named == {"1": 1, "deep": 3, "deeper": 5}
    found = rows(Space(space_config), dict(enumerate(winners)))
    texts = [canonical_json(row.point) for row in found.rows]
    assert len(texts) == len(set(texts))
    (shared,) = [row for row in found.rows if row.point == {DEPTH: 1, HIDDEN: 16}]
    assert {called(role) for role in shared.roles} == {
        *(f"without {number} {DEPTH}" for number in (0, 1)),
        *(f"alone {number} {HIDDEN}" for number in (0, 1)),
    }


def test_a_winner_that_is_the_base_has_no_change() -> None:
    named, left_out = spelt({"base": BASE, "axes": {DEPTH: {"choice": [1, 3]}}}, {DEPTH: 1})
    assert named == {"base": {DEPTH: 1}, "winner 0": {DEPTH: 1}}
    assert left_out == {}


@pytest.mark.first(6)
@pytest.mark.parametrize("name", presets())
def test_in_every_preset_each_row_differs_from_what_it_is_compared_with_by_its_axis_alone(name: str) -> None:
    """Beside that axis only what lies inside another kind, or on an axis that the change activates, may differ."""
    config = load_study(name)[0].space
    space, draw = Space(config), np.random.default_rng(0)
    for _ in range(2):
        winner = space.sample(draw)
        own = Space(space_of_rows(config, [winner]))
        found = rows(own, {0: winner})
        configs = {called(role): own.config(row.point) for row in found.rows for role in row.roles}
        assert configs["winner 0"] == space.config(winner)
        assert configs["base"] == config.base
        axes = changed(own, winner)
        for kind, axis in product(("without", "alone"), axes):
            role = f"{kind} 0 {axis}"
            if role not in configs:
                assert role in {called(left.role) for left in found.left_out}
                continue
            other = configs["winner 0"] if kind == "without" else configs["base"]
            paths = {*changes(configs[role], other), *changes(other, configs[role])}
            following = [path for path in own.domains if axis in own.conditions[path]]
            inside = axis.removesuffix(".kind")
            strange = {
                path
                for path in paths
                if not path.startswith((inside, *following)) and not _follows(own, path, paths | {axis})
            }
            assert not strange


def _follows(space: Space, path: str, others: set[str]) -> bool:
    """Whether an axis at or above ``path`` depends, through others or not, on one that differs."""
    above = [axis for axis in space.domains if f"{path}.".startswith(f"{axis}.")]
    return any(on in others for axis in above for on in space.conditions[axis])
