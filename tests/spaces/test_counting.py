"""Counting against listing: every combination is written out, the repetitions dropped, the forbidden ones sifted."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.frozen import canonical_json
from skipstack.spaces.counting import Combinations, SpaceCount, count
from skipstack.spaces.space import Point, Space
from tests.spaces.test_space import COMPOSITION, DEPTH, HIDDEN, KIND, MOMENTUM, RATE, built, descriptions, space

STACK, CELL, CONTEXT = "model.stack.kind", "model.stack.cell", "model.stack.context"
SKIP, VARIANT, LABELS = "model.stack.skip", "model.stack.variant", "model.stack.label_size"


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def combinations(subject: Space) -> dict[str, Point]:
    """Every distinct point of a finite space, forbidden ones included."""
    found: dict[str, Point] = {}
    for values in product(*(domain.values for domain in subject.domains.values())):
        chosen = dict(zip(subject.domains, values, strict=True))
        point = subject.compose(lambda path, _: chosen[path])  # noqa: B023 (called at once)
        found.setdefault(canonical_json(point), point)
    return found


NESTED: list[dict[str, Any]] = [
    {  # fields that only one kind of stack has, and conditions on them
        STACK: {"choice": ["recurrent", "feedback"]},
        DEPTH: {"choice": [1, 2, 3]},
        CELL: {"choice": ["lstm", "simple"], "when": {DEPTH: [1]}},
        SKIP: {"named": {"none": None, "fixed": {"kind": "fixed", "reach": 3}}, "when": {CELL: ["lstm"]}},
        VARIANT: {"choice": ["e", "j", "i"]},
        LABELS: {"integer": [1, 5], "when": {VARIANT: ["i"], DEPTH: [1, 2]}},
        CONTEXT: {"choice": [1, 2], "when": {STACK: ["feedback"]}},
    },
    {  # conditions that look into a whole mapping
        "training.optimiser": {
            "choice": [{"kind": "sgd", "momentum": 0.5}, {"kind": "sgd"}, {"kind": "adam"}, {"kind": "adagrad"}]
        },
        HIDDEN: {"choice": [4, 8], "when": {MOMENTUM: [0.5]}},
        DEPTH: {"choice": [1, 3], "when": {KIND: ["adam", "sgd"]}},
        COMPOSITION: {"choice": [1, 2], "when": {DEPTH: [3]}},
    },
    {  # an integer axis of which a later axis names two values
        HIDDEN: {"integer": [1, 9]},
        DEPTH: {"choice": [1, 2], "when": {HIDDEN: [3, 7]}},
        COMPOSITION: {"choice": [1, 2, 5], "when": {DEPTH: [2]}},
    },
    {  # integers by logarithm and numbers in steps, of which a later axis names values
        HIDDEN: {"lograndint": [8, 32], "step": 8},
        DEPTH: {"ordinal": [1, 2, 4], "when": {HIDDEN: [16, 32]}},
        RATE: {"uniform": [0.1, 0.5], "step": 0.1, "when": {DEPTH: [2, 4]}},
        COMPOSITION: {"choice": [1, 2], "when": {RATE: [0.3]}},
    },
    {  # the base, of depth 7, decides while the axis is not active
        KIND: {"choice": ["sgd", "adam"]},
        DEPTH: {"choice": [1, 2, 7], "when": {KIND: ["adam"]}},
        HIDDEN: {"choice": [4, 8], "when": {DEPTH: [7, 1]}},
    },
]


@pytest.mark.parametrize("axes", NESTED, ids=["kinds", "mappings", "integers", "steps", "base"])
def test_conditional_axes_are_counted_as_they_are_listed(axes: dict[str, Any]) -> None:
    subject = space(axes)
    listed = combinations(subject)
    ours = Combinations(subject)
    assert ours.number == len(listed)
    assert ours.varying == {path for point in listed.values() for path in point}
    assert Counter(map(canonical_json, ours)) == Counter(list(listed))
    counted = count(subject, generator())
    assert counted.allowed == sum(map(subject.allowed, listed.values())) == subject.count()


@given(descriptions())
def test_random_spaces_are_counted_as_they_are_listed(description: tuple[dict[str, Any], list[str]]) -> None:
    subject = built(*description)
    if subject is None:
        return
    listed = combinations(subject)
    counted = count(subject, generator())
    assert (counted.combinations, counted.allowed) == (len(listed), subject.count())
    assert set(counted.idle) == set(subject.domains) - {path for point in listed.values() for path in point}
    assert counted.standard_error is None
    assert counted.estimate == subject.count()
    assert counted.share == counted.estimate / counted.combinations


@pytest.mark.first(1)
@pytest.mark.parametrize("axes", NESTED, ids=["kinds", "mappings", "integers", "steps", "base"])
def test_every_combination_is_drawn_equally_often(axes: dict[str, Any]) -> None:
    subject = space(axes)
    ours, source = Combinations(subject), generator(1)
    times = 200 * ours.number
    drawn = Counter(canonical_json(ours.draw(source)) for _ in range(times))
    assert set(drawn) == set(combinations(subject))
    surprise = sum((seen - 200) ** 2 / 200 for seen in drawn.values())  # chi squared
    degrees = ours.number - 1
    assert surprise < degrees + 5 * (2 * degrees) ** 0.5


@pytest.mark.slow
def test_an_estimate_lies_within_its_error_of_the_number_that_it_estimates() -> None:
    subject = space({DEPTH: {"integer": [1, 12]}, COMPOSITION: {"choice": [1, 2, 5]}}, "block_on_top")
    exact = subject.count()
    assert exact is not None
    inside = 0
    for seed in range(40):
        counted = count(subject, generator(seed), listed=10, drawn=300)
        assert (counted.combinations, counted.allowed, counted.drawn) == (36, None, 300)
        assert counted.standard_error is not None
        inside += abs(counted.estimate - exact) <= 2 * counted.standard_error * counted.combinations
    assert inside >= 34  # 95 in 100 are expected


def test_spaces_beyond_any_float_are_counted_to_the_last_digit() -> None:
    vocabulary = "data.vocabulary.minimum_count"
    axes: dict[str, Any] = {vocabulary: {"integer": [1, 10**9]}, HIDDEN: {"integer": [1, 10**9 + 7]}}
    axes |= {DEPTH: {"integer": [1, 10**9]}, COMPOSITION: {"choice": [1, 2, 3], "when": {DEPTH: [5]}}}
    counted = Combinations(space(axes))
    assert counted.number == 10**9 * (10**9 + 7) * (10**9 - 1 + 3)
    large = SpaceCount(combinations=3 * 10**400 + 9, allowed=None, drawn=3, drawn_allowed=1)
    assert large.estimate == 10**400 + 3


def test_continuous_axes_are_named_and_multiply_nothing() -> None:
    axes = {
        DEPTH: {"choice": [1, 2, 3]},
        RATE: {"log": [0.01, 0.1], "when": {DEPTH: [1, 2]}},
        "model.embedder.dropout": {"real": [0.0, 0.5]},
        HIDDEN: {"choice": [4, 8], "when": {RATE: [0.01, 0.02]}},
    }
    counted = count(space(axes), generator())
    assert (counted.combinations, counted.allowed) == (1 + 1 + 2, 4)  # the base's rate is 0.02
    assert counted.continuous == (RATE, "model.embedder.dropout")


def test_a_share_of_nothing_and_of_everything_has_an_error_too() -> None:
    for found in (0, 100):
        counted = SpaceCount(combinations=10**6, allowed=None, drawn=100, drawn_allowed=found)
        assert counted.share == found / 100
        assert counted.standard_error == pytest.approx((2 / 104 * 102 / 104 / 104) ** 0.5)


@given(st.integers(0, 5))
@settings(max_examples=5)
def test_the_same_seed_draws_the_same(seed: int) -> None:
    ours = Combinations(space(NESTED[0]))
    first, second = generator(seed), generator(seed)
    assert [ours.draw(first) for _ in range(5)] == [ours.draw(second) for _ in range(5)]
