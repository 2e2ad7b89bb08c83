"""Which axes stand out: none in hundreds of searches of noise, and those of a planted truth."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from skipstack.search.analysis.exploration.levels import levels
from skipstack.search.analysis.exploration.places import places
from skipstack.search.analysis.exploration.standing_out import standing_out
from skipstack.spaces.domains import Choice, Domain, Real
from tests.search.analysis.exploration.planted import planted

DOMAINS: dict[str, Domain] = {
    "depth": Choice((1, 2, 3)),
    "gate": Choice(("none", "sigmoid")),
    "rate": Real(0.0, 1.0),
}


def _drawn(number: int, source: np.random.Generator) -> dict[str, Any]:
    return {
        "depth": source.integers(1, 4, size=number),
        "gate": source.choice(["none", "sigmoid"], size=number),
        "rate": source.random(number),
    }


def _found(points: dict[str, Any], scores: Sequence[float]) -> list[str]:
    """The axes that stand out of whole trials."""
    trials = pd.DataFrame(points).assign(score=np.asarray(scores, dtype=float))
    texts = [json.dumps(each) for each in pd.DataFrame(points).astype(object).to_dict("records")]
    parts = levels(pd.DataFrame({"point": texts}), DOMAINS)
    return standing_out(
        trials["score"], trials, trials["score"].notna(), pd.DataFrame({1: trials["score"]}), parts, DOMAINS
    )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "searches"), [(16, 200), (100, 60), (10_000, 3)])
def test_on_noise_hardly_ever_an_axis_stands_out(number: int, searches: int) -> None:
    source = np.random.default_rng(number)
    found = [_found(_drawn(number, source), source.normal(size=number)) for _ in range(searches)]
    assert sum(map(bool, found)) <= 1  # 5 % of searches would be 10 of 200


def test_an_axis_of_half_the_variance_stands_out_of_few_trials_already() -> None:
    found = []
    for seed in range(30):
        source = np.random.default_rng(seed)
        points = _drawn(32, source)
        found.append(_found(points, points["depth"] * np.sqrt(3 / 2) + source.normal(size=32)))
    assert sum("depth" in each for each in found) > 20
    assert not any({"gate", "rate"} & set(each) for each in found)


def test_a_number_stands_out_by_a_line_and_by_a_hump() -> None:
    source = np.random.default_rng(0)
    points = _drawn(48, source)
    noise = 0.1 * source.normal(size=48)
    assert _found(points, points["rate"] + noise) == ["rate"]
    assert _found(points, -np.abs(points["rate"] - 0.5) + noise) == ["rate"]


def test_of_stopped_trials_it_counts_how_far_they_came_and_not_the_end_that_a_model_foresees() -> None:
    each = planted(0)
    trials = each.parts.assign(score=each.scores)
    domains: dict[str, Domain] = {
        axis: Choice(tuple(f"{axis} {part}" for part in sorted(set(each.parts[axis]) - {-1}))) for axis in each.parts
    }
    for axis in each.parts:
        trials[axis] = each.parts[axis].map({part: f"{axis} {part}" for part in sorted(set(each.parts[axis]) - {-1})})
    found = standing_out(trials["score"], trials, each.whole, each.reached, each.parts, domains)
    assert found[0] == "depth"
    noise = trials.assign(score=np.random.default_rng(0).normal(size=len(trials)))
    mattering = each.parts["depth"] == 2
    reached = pd.DataFrame(np.where(mattering, 1.0, np.nan), columns=[2]).assign(**{"1": 1.0})
    none = pd.Series([False] * len(trials))
    assert (
        standing_out(noise["score"], noise, none, reached, each.parts, domains)[0] == "depth"
    )  # by how far they came alone
    assert standing_out(noise["score"], noise, ~none, reached, each.parts, domains) == []


def test_hardly_any_trials_and_equal_scores_tell_nothing() -> None:
    points = _drawn(16, np.random.default_rng(0))
    assert _found(points, [0.5] * 16) == []
    assert _found({axis: values[:2] for axis, values in points.items()}, [0.1, 0.9]) == []
    assert _found({axis: values[:0] for axis, values in points.items()}, []) == []
    assert _found(points, [float("nan")] * 16) == []


def test_numbers_with_names_have_no_order() -> None:
    place_MD, bounds_D2 = places(pd.Series(["none", "one", "none"]), Choice((0, 1)))
    assert place_MD.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert bounds_D2.tolist() == [[0, 1], [0, 1]]
    assert places(pd.Series([0, 1, 0]), Choice((0, 1)))[0].tolist() == [[0], [1], [0]]
