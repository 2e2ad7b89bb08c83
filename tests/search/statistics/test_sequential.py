"""Sequential tests: their looks, their p values, and the chance that further seeds will mark a difference."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, ttest_1samp
from scipy.stats import t as student

from skipstack.search.statistics.chance import VarianceComponent
from skipstack.search.statistics.sequential import chance_of_mark, expected, looks, sequential_p, shares, spending


@given(st.integers(2, 30), st.integers(1, 200))
def test_looks_begin_and_end_where_they_should_and_grow_by_a_quarter_in_between(first: int, further: int) -> None:
    found = looks(first, first + further)
    assert (found[0], found[-1]) == (first, first + further)
    growth = [after / before for before, after in pairwise(found)]
    assert all(1 < each <= 2 for each in growth)
    assert all(after == max(before + 1, round(1.25 * before)) for before, after in pairwise(found[:-1]))
    assert sum(shares(found)) == pytest.approx(1)


def test_five_seeds_grow_to_forty_as_the_guide_says() -> None:
    assert looks(5, 40) == (5, 6, 8, 10, 12, 15, 19, 24, 30, 40)


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=10), st.floats(0.001, 0.2))
def test_a_p_is_below_a_level_exactly_if_a_look_spends_its_share_of_it(values: list[float], level: float) -> None:
    at = looks(5, 40)
    spent = [level * (now - before) / 40 for before, now in zip((0, *at), at, strict=False)]
    beyond = any(value < share for value, share in zip(values, spent, strict=False))
    assert (sequential_p(values, shares(at)) < level) == beyond


@pytest.mark.parametrize(("at", "level"), [((2, 3, 4, 6), 0.05), (looks(5, 40), 0.05 / 7)])
def test_without_an_effect_a_look_marks_as_often_as_the_level_allows(at: tuple[int, ...], level: float) -> None:
    """By scipy's t test of seeds drawn one by one; the bounds are binomial."""
    spent, repeats = spending(at, level), 20_000
    assert spent == pytest.approx(sum(spent) / at[-1] ** 1.5 * np.diff(np.power((0, *at), 1.5)))
    assert 1.1 < sum(spent) < len(at)
    values = np.random.default_rng(1).standard_normal((repeats, at[-1]))
    p = [ttest_1samp(values[:, :look], 0, axis=1).pvalue / share for look, share in zip(at, spent, strict=True)]
    smallest = np.min(p, axis=0)
    assert binom.ppf(0.001, repeats, 0.9 * level) <= (smallest < level).sum() <= binom.ppf(0.999, repeats, level)
    assert (smallest < 0.2).mean() < 0.2, "at larger levels these shares are strict"


def test_the_chance_of_a_mark_is_that_of_experiments_drawn_from_what_is_known() -> None:
    """By simulation: variances and means are drawn given six seeds, then the seeds to come, then the mean is tested."""
    source, (own, most, level, repeats) = np.random.default_rng(0), (6, 20, 0.01, 200_000)
    for values in (source.normal(0.5, 1, own), source.normal(1.5, 1, own)):
        mean, variance = values.mean(), values.var(ddof=1)
        true = (own - 1) * variance / source.chisquare(own - 1, repeats)
        centre = source.normal(mean, np.sqrt(true / own))
        new = source.normal(centre, np.sqrt(true / (most - own)))
        final = (own * mean + (most - own) * new) / most
        bound = student.isf(level / 2, most - 1) * np.sqrt(variance / most)
        found = chance_of_mark(mean, [VarianceComponent(variance / own, own - 1)], seeds=own, most=most, level=level)
        assert float(found) == pytest.approx((np.abs(final) > bound).mean(), abs=0.005)


def test_without_variation_a_difference_is_marked_for_sure_or_never() -> None:
    none = [VarianceComponent(np.zeros(2), 4)]
    assert chance_of_mark(np.array([0.0, 0.3]), none, seeds=5, most=9, level=0.05).tolist() == [0, 1]


def test_what_is_expected_is_what_comes_of_trained_seeds() -> None:
    """By a loop over experiments with scipy's t test; rows are given up as ``chance_of_mark`` says."""
    at, level, effect, experiments = (4, 6, 9), 0.05, 0.9, 300
    spent = spending(at, level)
    told = expected(at, spent, effect, level=level, experiments=experiments, source=np.random.default_rng(3))
    marked, seeds = 0, 0
    for values in np.random.default_rng(3).normal(effect, 1.0, (experiments, at[-1])):
        for look, share in zip(at, spent, strict=True):
            p = ttest_1samp(values[:look], 0).pvalue
            part = VarianceComponent(values[:look].var(ddof=1) / look, look - 1)
            last = level * spent[-1]
            chance = float(chance_of_mark(values[:look].mean(), [part], seeds=look, most=at[-1], level=last))
            if p < level * share or chance < 0.2 or look == at[-1]:
                marked, seeds = marked + (p < level * share), seeds + look
                break
    assert told.marked == pytest.approx(marked / experiments)
    assert told.seeds == pytest.approx(seeds / experiments)
