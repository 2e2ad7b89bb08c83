"""Statistics over seeds, against numpy, pandas and scipy."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import spearmanr

from skipstack.search.statistics.spreads import Spread, paired_difference, rank_correlation

SHARES = some.floats(0, 1, allow_subnormal=False)
BY_SEED = some.dictionaries(some.integers(0, 8), SHARES, max_size=9)


@given(some.lists(SHARES, min_size=2, max_size=12))
def test_a_spread_is_what_numpy_says(values: list[float]) -> None:
    spread = Spread(tuple(values))
    deviation = float(np.std(values, ddof=1))
    assert spread.n == len(values)
    assert spread.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert spread.deviation == pytest.approx(deviation, abs=1e-12)
    assert spread.standard_error == pytest.approx(deviation / math.sqrt(len(values)), abs=1e-12)


def test_one_value_has_a_mean_and_no_error() -> None:
    spread = Spread((0.25,))
    assert (spread.n, spread.mean, spread.deviation, spread.standard_error) == (1, 0.25, None, None)
    assert not spread.exceeds_error


@given(BY_SEED, BY_SEED)
def test_differences_pair_the_seeds_that_both_have(ours: dict[int, float], theirs: dict[int, float]) -> None:
    joined: Any = pd.concat([pd.Series(ours, dtype=float), pd.Series(theirs, dtype=float)], axis=1, join="inner")
    difference = joined[0] - joined[1]
    paired = paired_difference(ours, theirs)
    if difference.empty:
        assert paired is None
        return
    assert paired is not None
    assert paired.n == len(difference)
    assert paired.mean == pytest.approx(difference.mean(), abs=1e-12)
    if paired.n == 1:
        assert paired.standard_error is None
    else:
        assert paired.standard_error == pytest.approx(difference.sem(), abs=1e-12)
        error = difference.sem()
        if abs(abs(difference.mean()) - error) > 1e-9:
            assert paired.exceeds_error == (abs(difference.mean()) > error)


def test_what_seeds_have_in_common_leaves_the_error_of_a_difference() -> None:
    easy_and_hard_seed = {0: 0.90, 1: 0.50}
    a_little_better = {0: 0.92, 1: 0.53}
    paired = paired_difference(a_little_better, easy_and_hard_seed)
    assert paired is not None
    assert paired.mean == pytest.approx(0.025)
    assert paired.standard_error == pytest.approx(0.005)
    assert paired.exceeds_error


@given(some.lists(some.tuples(some.integers(0, 4), some.integers(0, 4)), max_size=9))
def test_a_rank_correlation_is_what_scipy_says_ties_included(pairs: list[tuple[int, int]]) -> None:
    one, other = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    ours = rank_correlation(one, other)
    if len(set(one)) < 2 or len(set(other)) < 2:
        assert ours is None
    else:
        assert ours == pytest.approx(float(spearmanr(one, other).statistic), abs=1e-12)


def test_equal_trials_differ_by_nothing() -> None:
    paired = paired_difference({0: 0.9, 1: 0.8}, {0: 0.9, 1: 0.8})
    assert paired is not None
    assert (paired.mean, paired.standard_error, paired.exceeds_error) == (0.0, 0.0, False)
