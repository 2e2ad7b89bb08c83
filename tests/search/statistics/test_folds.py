"""Intervals over folds, against the formulas as their authors print them, and simulated cross-validations."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

from skipstack.search.statistics.estimates import NO_CHANCE_OF_FOLDS, ONE_FOLD, over_folds
from tests.search.statistics.measured import REPEATS
from tests.search.statistics.simulated_folds import (
    CHOSEN,
    CORRECTED,
    ON_TEST,
    PARTITIONS,
    PLAIN,
    VALIDATED,
    Validated,
    covered,
    marked,
)


@pytest.mark.parametrize(("folds", "partitions"), [(5, 1), (10, 1), (10, 10), (2, 3)])
def test_the_corrected_t_is_that_of_bouckaert_and_frank(folds: int, partitions: int) -> None:
    """Its t is mean / sqrt((1 / (k r) + n2 / n1) s^2), with n1 examples to train on, n2 to test on, k r - 1 degrees."""
    values = np.random.default_rng(folds).normal(0.01, 0.02, folds * partitions)
    trained, tested = 1000 * (folds - 1) / folds, 1000 / folds
    error = math.sqrt((1 / len(values) + tested / trained) * values.var(ddof=1))
    found = over_folds(values.tolist(), folds, held_out=True)
    assert found.error == pytest.approx(error)
    assert found.p == pytest.approx(2 * student.sf(abs(values.mean()) / error, len(values) - 1), rel=1e-4)
    assert found.half == pytest.approx(student.ppf(0.975, len(values) - 1) * error)


def test_on_further_examples_it_is_the_jackknife_over_groups() -> None:
    """(g - 1) / g times the sum of squares around the mean, for g groups of which each is left out once."""
    values = np.random.default_rng(0).normal(size=5)
    found = over_folds(values.tolist(), 5, held_out=False)
    assert found.error == pytest.approx(math.sqrt(4 / 5 * ((values - values.mean()) ** 2).sum()))


def test_calls_of_several_partitions_share_training_examples_pair_by_pair() -> None:
    """Pairs of calls are counted one by one: within a partition of k folds, and of two drawn apart from each other."""
    folds, partitions = 5, 3
    calls = [(partition, fold) for partition in range(partitions) for fold in range(folds)]
    alike = [3 / 4 if one[0] == other[0] else 4 / 5 for one in calls for other in calls if one != other]
    values = np.random.default_rng(1).normal(size=len(calls))
    rho = float(np.mean(alike))
    expected = values.var(ddof=1) * (1 / len(values) + rho / (1 - rho))
    assert over_folds(values.tolist(), folds, held_out=False).error == pytest.approx(math.sqrt(expected))


def test_without_several_different_values_there_is_no_interval() -> None:
    assert over_folds([0.5], 5, held_out=True).why == ONE_FOLD
    same = over_folds([0.1 + 0.2, 0.3, 0.3], 3, held_out=True)
    assert (same.half, same.why) == (None, NO_CHANCE_OF_FOLDS)


def test_corrected_intervals_cover_where_students_over_folds_or_partitions_do_not() -> None:
    shares, wide = covered(VALIDATED[4], 200)
    assert shares[CORRECTED] >= 0.95
    assert shares[ON_TEST] >= 0.95
    assert max(shares[PLAIN], shares[PARTITIONS]) < 0.9
    assert 1 < wide < 2.5


def test_a_config_that_was_chosen_by_the_same_data_is_marked_by_students_and_seldom_by_the_corrected_one() -> None:
    found = marked(CHOSEN[1], 100)
    assert found[PLAIN] > 0.2
    assert max(found[CORRECTED], found[ON_TEST]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("world", VALIDATED, ids=lambda world: world.name)
def test_all_of_them_cover(world: Validated) -> None:
    shares, _ = covered(world, REPEATS)
    assert shares[CORRECTED] >= 0.94
    assert shares[ON_TEST] >= 0.94
