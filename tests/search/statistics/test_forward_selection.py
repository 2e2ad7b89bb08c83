"""Forward selection against classical tests, and on noise of any shape, where it finds as often as it says."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import f_oneway, linregress, norm
from statsmodels.regression.linear_model import OLS

from skipstack.search.statistics.forward_selection import Values, _p, selected

SHAPES: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "normal": lambda source, number: source.normal(size=number),
    "lognormal": lambda source, number: source.lognormal(sigma=2.0, size=number),
    "one in ten fails": lambda source, number: source.normal(size=number) - 50 * (source.random(number) < 0.1),
    "two values": lambda source, number: source.integers(2, size=number).astype(float),
}


def _normal_scores(number: int) -> Values:
    return norm.ppf((np.arange(1, number + 1) - 3 / 8) / (number + 1 / 4))


def _dummies(codes: Values) -> Values:
    return (codes[:, None] == np.unique(codes)).astype(float)


def test_p_of_groups_and_of_a_line_are_those_of_classical_tests_of_normal_scores() -> None:
    source = np.random.default_rng(0)
    response, groups, line = source.permutation(30).astype(float), source.integers(3, size=30), source.random(30)
    scores, ones = _normal_scores(30)[response.astype(int)], np.ones((30, 1))
    assert _p(response, _dummies(groups), ones) == pytest.approx(
        f_oneway(*(scores[groups == each] for each in range(3))).pvalue, rel=1e-10
    )
    assert _p(response, line[:, None], ones) == pytest.approx(linregress(line, scores).pvalue, rel=1e-10)


def test_beside_what_is_known_p_is_that_of_nested_models() -> None:
    source = np.random.default_rng(1)
    response, groups, line = source.permutation(30).astype(float), source.integers(3, size=30), source.random(30)
    scores = _normal_scores(30)[response.astype(int)]
    small = OLS(scores, np.column_stack([np.ones(30), line])).fit()
    large = OLS(scores, np.column_stack([np.ones(30), line, _dummies(groups)[:, 1:]])).fit()
    known = np.column_stack([np.ones(30), line])
    assert _p(response, _dummies(groups), known) == pytest.approx(large.compare_f_test(small)[1], rel=1e-9)
    assert _p(response, np.column_stack([2 * line - 1]), known) == 1.0  # has nothing of its own


def test_an_effect_that_is_found_uncovers_a_smaller_one_and_a_shadow_of_it_is_none() -> None:
    source = np.random.default_rng(2)
    large, small, idle = source.random((3, 60))
    shadow = large + 0.3 * source.random(60)
    response = 10 * large + small + 0.2 * source.normal(size=60)
    factors = {name: [each[:, None]] for name, each in [("shadow", shadow), ("large", large), ("small", small)]}
    assert selected(response, factors | {"idle": [idle[:, None]]}, 1e-3) == ["large", "small"]
    assert selected(response, {"small": factors["small"]}, 1e-3) == []


def test_a_factor_that_some_lack_is_tested_among_the_others() -> None:
    source = np.random.default_rng(3)
    kind, size = source.integers(2, size=60), source.random(60)
    response = 5.0 * kind + 2 * size * (kind == 1) + 0.3 * source.normal(size=60)
    of_size = np.where(kind == 1, size, np.nan)[:, None]
    assert selected(response, {"kind": [_dummies(kind)], "size": [of_size]}, 1e-3) == ["kind", "size"]
    there = kind == 1
    assert selected(response[there], {"size": [size[there, None]]}, 1e-3) == ["size"]
    assert selected(response, {"size": [np.full((60, 1), np.nan)]}, 1e-3) == []
    assert selected(response[:0], {"size": [of_size[:0]]}, 1e-3) == []
    assert selected(response, {}, 1e-3) == []


@pytest.mark.first(2)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [8, 16])
def test_noise_is_found_no_more_often_than_is_said(shape: str, number: int) -> None:
    source, times = np.random.default_rng([number]), 400
    found = 0
    for _ in range(times):
        choice, line = source.integers(3, size=number), source.random(number)
        factors = {"choice": [_dummies(choice)], "line": [_dummies(line > 0.5), line[:, None]]}
        found += bool(selected(SHAPES[shape](source, number), factors, 0.05))
    assert found / times <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / times)
