"""Fixing, narrowing or removing an axis, against the enumeration of the whole space: what is left are the points that
have the value, and the axes that vary among them.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import present, read, written
from skipstack.spaces.space import Point, Space, SpaceConfig
from skipstack.spaces.trial import TrialConfig
from tests.spaces.test_counting import NESTED

STACK, DEPTH, HIDDEN = "model.stack.kind", "model.stack.depth", "model.stack.hidden"
COMPOSITION, GATE = "model.stack.composition", "model.stack.shortcut.gate"
SKIP, REACH, CELL = "model.stack.skip.kind", "model.stack.skip.reach", "model.stack.cell"
VARIANT, LABELS = "model.stack.variant", "model.stack.label_size"

FAMILIES: dict[str, Any] = {
    "base": {"model": {"stack": {"kind": "recurrent", "depth": 1, "composition": 2}}},
    "axes": {
        STACK: {"choice": ["recurrent", "feedback"]},
        HIDDEN: {"choice": [8, 16]},
        DEPTH: {"choice": [1, 3], "when": {STACK: ["recurrent"]}},
        COMPOSITION: {"choice": [0, 2], "when": {DEPTH: [3]}},
        GATE: {"choice": ["none", "linear"], "when": {COMPOSITION: [2]}},
        SKIP: {"named": {"no skip": None, "dynamic": "dynamic"}, "when": {DEPTH: [1]}},
        REACH: {"choice": [2, 3]},  # fields that some kinds have need no condition
        VARIANT: {"choice": ["e", "i"]},
        LABELS: {"choice": [8, 16], "when": {VARIANT: ["i"]}},
        "model.head.kind": {"choice": ["softmax", "crf"], "when": {STACK: ["recurrent"]}},
    },
    "constraints": ["hidden * depth < 40", "label_size == 8 or hidden == 16", "reach > 2"],
}
STUDIES: list[dict[str, Any]] = [FAMILIES, *({"axes": axes} for axes in NESTED)]
CASES = [
    (number, path)
    for number, study in enumerate(STUDIES)
    for path in study["axes"]
    if path != "training.optimiser"  # its values are whole mappings, of which conditions look at parts
]


def whole(study: dict[str, Any], **base: Json) -> Space:
    """Return the study's space, nothing removed, with values in its base."""
    tree = TrialConfig.model_validate(study.get("base", {})).model_dump(mode="json")
    for path, value in base.items():
        tree = dict(written(tree, path, value))
    return Space(SpaceConfig.model_validate({**study, "base": tree}))


def without(study: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the study without the axis at ``path``, nothing else removed."""
    return {**study, "axes": {other: axis for other, axis in study["axes"].items() if other != path}}


def every(study: dict[str, Any], **base: Json) -> list[Point]:
    """Return all combinations of the study's space, whether its constraints allow them or not."""
    return list(whole({**study, "constraints": []}, **base).everything())


def having(points: Sequence[Point], path: str, values: Sequence[Json]) -> list[Point]:
    """Return the points that have one of the values at ``path``, or at which its axis is inactive."""
    return [point for point in points if path not in point or point[path] in values]


def check(config: StudyConfig, original: Space, points: Sequence[Point], path: str, reached: set[str]) -> None:
    """Check that the study has the configs of those of these ``points`` that the original space allows, and the axes
    that vary in them. ``path``: the axis that was fixed or narrowed. ``reached``: the axes that vary before.
    """
    left = Space(config.space)
    ours = [left.config(point).identity for point in left.enumerate()]
    assert sorted(ours) == sorted(original.config(point).identity for point in points if original.allowed(point))
    active = {axis for point in points for axis in point}
    never = original.domains.keys() - reached
    assert active - {path} <= left.domains.keys() <= active | {path} | never
    gone = original.domains.keys() - left.domains.keys() - {path}
    assert {axis for axes in config.removed.values() for axis in axes if " " not in axis} == gone
    assert set(config.removed) <= {path}
    assert StudyConfig.model_validate(config.model_dump(mode="json")) == config


def domain_values(space: Space, path: str) -> Sequence[Json]:
    return space.domains[path].values


@pytest.mark.first(3)
@pytest.mark.parametrize(("number", "path"), CASES)
def test_a_fixed_axis_leaves_the_points_of_the_space_without_it_and_the_axes_that_vary_in_them(
    number: int, path: str
) -> None:
    study = STUDIES[number]
    reached = {axis for point in every(study) for axis in point}
    for value in domain_values(whole(study), path) if present(whole(study).base, path) else ():
        try:
            original = whole(without(study, path), **{path: value})
            points = every(without(study, path), **{path: value})
        except UserError:  # such a space was refused, but its points are known where no kind decides on the field
            assert path == STACK
            original = whole(study, **{path: value})
            points = having(every(study, **{path: value}), path, [value])
        check(load_study(study, overrides={path: value})[0], original, points, path, reached)


def some(values: Sequence[Json]) -> Iterator[tuple[Json, ...]]:
    for size in (1, 2):
        yield from combinations(values[:4], size)


@pytest.mark.first(2)
@pytest.mark.parametrize(("number", "path"), CASES)
def test_a_narrowed_axis_leaves_the_points_that_have_its_values(number: int, path: str) -> None:
    study, original = STUDIES[number], whole(STUDIES[number])
    narrowed, reached = study["axes"][path], {axis for point in every(study) for axis in point}
    for values in some(domain_values(original, path)):
        points = having(every(study), path, values)
        if not any(map(original.allowed, points)):
            continue
        names = {"named": dict(zip("ab", values, strict=False))} if "named" in narrowed else {"choice": values}
        axis = {**names, "when": narrowed.get("when", {})}
        check(load_study(study, overrides={f"axes.{path}": axis})[0], original, points, path, reached)


@pytest.mark.first(8)
@pytest.mark.parametrize(("number", "path"), CASES)
def test_an_axis_that_is_removed_is_fixed_at_the_bases_value(number: int, path: str) -> None:
    study, base = STUDIES[number], whole(STUDIES[number]).base
    removed, _ = load_study(study, overrides={f"axes.{path}": None})
    assert path not in removed.space.axes
    if present(base, path):
        fixed, _ = load_study(study, overrides={path: read(base, path)})
        assert (removed.space, removed.removed) == (fixed.space, fixed.removed)


def test_a_constraint_goes_with_the_axes_that_it_names() -> None:
    fixed, _ = load_study(FAMILIES, overrides=[f"{STACK}=recurrent"])
    assert fixed.space.constraints == ("model.stack.hidden * model.stack.depth < 40", "model.stack.skip.reach > 2")
    assert fixed.removed == {STACK: (VARIANT, LABELS, "constraint label_size == 8 or hidden == 16")}
    assert fixed.removals == (
        f"removed, since they vary only with other values of {STACK}: {VARIANT}, {LABELS}, "
        "constraint label_size == 8 or hidden == 16",
    )
    plain, _ = load_study(FAMILIES, overrides=[f"{DEPTH}=3"])
    assert plain.removed == {DEPTH: (SKIP, REACH, "constraint reach > 2")}


def test_a_condition_on_a_fixed_axis_goes_and_the_others_stay() -> None:
    axes = {**FAMILIES["axes"], GATE: {"choice": ["none", "linear"], "when": {DEPTH: [3], HIDDEN: [8]}}}
    fixed, _ = load_study({**FAMILIES, "axes": axes}, overrides=[f"{STACK}=recurrent", f"{DEPTH}=3"])
    assert {path: fixed.space.axes[path].when for path in (COMPOSITION, GATE)} == {
        COMPOSITION: {},
        GATE: {HIDDEN: (8,)},
    }
    assert fixed.space.axes["model.head.kind"] == Axis(choice=("softmax", "crf"))
    narrowed, _ = load_study(FAMILIES, overrides=[f"axes.{DEPTH}={{choice: [3, 5]}}"])
    assert narrowed.space.axes["model.head.kind"].when == {STACK: ("recurrent",)}
    assert narrowed.space.axes[COMPOSITION].when == {DEPTH: (3,)}


@pytest.mark.parametrize(
    ("kind", "left"),
    [("recurrent", {DEPTH, COMPOSITION, CELL, SKIP, REACH}), ("feedback", {VARIANT, LABELS, "model.stack.context"})],
)
def test_the_space_of_all_families_can_be_fixed_at_either_kind_of_stack(kind: str, left: set[str]) -> None:
    every, _ = load_study("flagship")
    fixed, _ = load_study("flagship", overrides=[f"{STACK}={kind}"])
    assert left <= fixed.space.axes.keys() <= every.space.axes.keys() - {STACK}
    assert {*fixed.space.axes, *fixed.removed[STACK], STACK} == set(every.space.axes)
    space, source = Space(every.space), np.random.default_rng(1)
    drawn = [point for point in (space.sample(source) for _ in range(200)) if point[STACK] == kind]
    assert len(drawn) > 20
    assert all(point.keys() - {STACK} <= fixed.space.axes.keys() for point in drawn)


FILE = """extends: flagship
base: {model: {stack: {kind: recurrent, depth: 4}}}
axes:
  model.stack.kind: null
  model.stack.depth: {choice: [4, 7]}
scales:
  small:
    axes: {model.stack.skip.kind: null}
"""


def test_a_file_fixes_what_it_extends_and_its_scale_fixes_more(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FILE)
    ours, _ = load_study(tmp_path / "mine.yaml")
    assert {path: len(names) for path, names in ours.removed.items()} == {STACK: 5, DEPTH: 1}
    assert ours.removed[DEPTH] == (CELL,)  # cells vary at depth 1 alone
    assert ours.space.axes[COMPOSITION].when == {DEPTH: (4, 7)}
    assert {SKIP, REACH} <= ours.space.axes.keys()
    small, _ = load_study(tmp_path / "mine.yaml", scale="small")
    assert small.removed[SKIP] == (REACH, "model.stack.skip.share")


def test_what_is_removed_may_also_be_removed_by_hand() -> None:
    """As it had to be in earlier versions."""
    by_hand = [f"{STACK}=recurrent", f"axes.{VARIANT}=null", f"axes.{LABELS}=null"]
    ours, alone = (load_study(FAMILIES, overrides=each)[0] for each in (by_hand, by_hand[:1]))
    assert ours.space.axes == alone.space.axes


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            [f"axes.{COMPOSITION}={{choice: [0, 2], when: {{{DEPTH}: [5]}}}}"],
            f"when {DEPTH} is 5, which its axis never",
        ),
        ([f"{STACK}=feedback", f"axes.{DEPTH}={{choice: [1, 3]}}"], "the base is of another kind"),
        ([f"{STACK}=feedbak"], "unknown kind 'feedbak'"),
        ([f"{STACK}=recurrent", "constraints+=label_siz > 2"], "unknown axis 'label_siz'"),
        (["model.stack.kind=recurrent", f"axes.{VARIANT}={{choice: [x]}}"], "unknown value 'x'"),
    ],
)
def test_a_mistake_is_still_told(overrides: list[str], told: str) -> None:
    with pytest.raises(UserError, match=f"^--set {re.escape(overrides[-1])}: ") as caught:
        load_study(FAMILIES, overrides=overrides)
    assert told in str(caught.value)


def test_a_study_where_nothing_is_fixed_loses_nothing_and_is_recorded_as_before() -> None:
    study, _ = load_study(FAMILIES)
    assert study.space.axes.keys() == FAMILIES["axes"].keys()
    assert study.removed == {}
    assert "removed" not in json.loads(study.model_dump_json())
