"""The mean over corpora, against scipy, and planted effects that differ from corpus to corpus."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from skipstack.search.statistics.chance import VarianceComponent, half_width
from skipstack.search.statistics.estimates import SAME_ON_ALL_CORPORA, Estimate, mean_over_corpora


def estimate(value: float, seeds: int = 5) -> Estimate:
    return Estimate(value=value, error=0.002, seeds=seeds)


def test_it_is_students_interval_over_the_corpora() -> None:
    values = [0.010, 0.002, 0.030]
    made = mean_over_corpora([estimate(value, seeds) for value, seeds in zip(values, (5, 3, 4), strict=True)])
    theirs = ttest_1samp(values, 0.0)
    assert (made.low, made.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert made.p == pytest.approx(theirs.pvalue)
    assert (made.corpora, made.seeds, made.sentences) == (3, 3, None)


def test_corpora_that_agree_to_the_last_digit_show_no_chance() -> None:
    made = mean_over_corpora([estimate(0.01), estimate(0.01)])
    assert (made.value, made.half, made.why) == (0.01, None, SAME_ON_ALL_CORPORA)


@pytest.mark.parametrize("corpora", [2, 3, 5])
def test_planted_effects_are_covered_however_unequal_the_errors_are(corpora: int) -> None:
    generator = np.random.default_rng(corpora)
    for apart, largest in product((0.0, 0.005), (1, 5)):
        errors = 0.003 * np.linspace(1, largest, corpora)
        effects = generator.normal(0, apart, (4000, corpora)) + generator.normal(0, errors, (4000, corpora))
        of_mean = VarianceComponent(
            effects.var(axis=1, ddof=1) / corpora, corpora - 1
        )  # as the first test has it, 4,000 at once
        covered = (np.abs(effects.mean(axis=1)) <= half_width([of_mean], 0.95)).mean()
        assert 0.94 <= covered <= 0.985
