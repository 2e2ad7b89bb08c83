"""Sources of chance, against statsmodels' analysis of variance, scipy's t test, and normal tables with known ones."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import t, ttest_1samp
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from skipstack.search.statistics.chance import SMALLEST_P, VarianceComponent, chance, half_width, mean_squares, p_value

Values = NDArray[np.float64]
S = 500
DRAWN = 20_000


def test_mean_squares_are_those_of_an_analysis_of_variance() -> None:
    table_RS = np.random.default_rng(0).normal(size=(4, 7)) + np.arange(7)
    frame = pd.DataFrame([(r, s, table_RS[r, s]) for r, s in np.ndindex(4, 7)], columns=["seed", "sentence", "value"])
    theirs = anova_lm(ols("value ~ C(seed) + C(sentence)", frame).fit())["mean_sq"]
    ours = mean_squares(table_RS)
    assert (ours.seeds, ours.sentences, ours.rest) == pytest.approx(
        (theirs["C(seed)"], theirs["C(sentence)"], theirs["Residual"])
    )
    assert (ours.R, ours.S) == (4, 7)


def test_the_variance_is_that_of_seeds_and_of_sentences_if_that_is_positive() -> None:
    generator = np.random.default_rng(1)
    seen = set()
    for spread in (0.0, 0.3):
        table_RS = generator.normal(size=(3, 40)) + spread * generator.normal(size=40)
        squares = mean_squares(table_RS)
        seeds, sentences = chance(table_RS)
        assert (seeds.degrees, sentences.degrees) == (2, 39)
        assert seeds.variance == pytest.approx(squares.seeds / 120)
        assert sentences.variance == pytest.approx(max(squares.sentences - squares.rest, 0) / 120)
        seen.add(bool(sentences.variance > 0))
    assert seen == {False, True}


def test_tables_with_other_seeds_add_their_variances_and_share_their_sentences() -> None:
    generator = np.random.default_rng(2)
    sentences_S = generator.normal(size=300)
    one_RS, other_QS = (sentences_S + generator.normal(size=(seeds, 300)) for seeds in (3, 5))
    first, second, sentences = chance(one_RS, other_QS)
    assert (first.variance, second.variance) == pytest.approx(
        (one_RS.mean(axis=1).var(ddof=1) / 3, other_QS.mean(axis=1).var(ddof=1) / 5)
    )
    assert (first.degrees, second.degrees, sentences.degrees) == (2, 4, 299)
    assert float(sentences.variance) < 0.2 * sentences_S.var() / 300, "what both share says nothing of the difference"


@pytest.mark.parametrize("seeds", [2, 3, 10])
def test_a_single_source_gives_students_t(seeds: int) -> None:
    values = np.random.default_rng(seeds).normal(0.5, 1.0, seeds)
    parts = [VarianceComponent(np.asarray(values.var(ddof=1) / seeds), seeds - 1)]
    theirs = ttest_1samp(values, 0.0)
    low, high = theirs.confidence_interval(0.95)
    assert half_width(parts, 0.95) == pytest.approx((high - low) / 2)
    assert p_value(values.mean(), parts) == pytest.approx(theirs.pvalue)


def test_p_is_the_level_at_which_the_bound_is_met_and_goes_from_the_smallest_to_1() -> None:
    parts = [VarianceComponent(np.array([1.0, 1.0, 1.0]), 2), VarianceComponent(np.array([0.5, 0.5, 0.5]), 499)]
    p = p_value(np.array([0.0, 3.0, 1e12]), parts)
    assert p[0] == pytest.approx(1.0)
    assert p[2] == pytest.approx(SMALLEST_P)
    assert t.isf(p[1] / 2, 2) ** 2 + 0.5 * t.isf(p[1] / 2, 499) ** 2 == pytest.approx(9.0)


def _normal(seeds: int) -> Iterator[tuple[Values, list[VarianceComponent], float]]:
    """Means of normal tables, and the parts of their variance as they would be measured, for many true variances.

    In units of the cells' variance; for normal tables mean squares are independent and have chi-squared distributions.
    The last: how often the interval covers that has Satterthwaite's degrees of freedom instead.
    """
    generator = np.random.default_rng(seeds)
    degrees = [seeds - 1, S - 1, (seeds - 1) * (S - 1)]
    for of_seeds, of_sentences in product((0, 0.3, 1, 3, 10, 100), (0, 0.1, 0.5, 1, 3, 10, 100)):
        sizes = [1 + of_seeds, 1 + of_sentences, 1]
        squares = [size * generator.chisquare(d, DRAWN) / d for size, d in zip(sizes, degrees, strict=True)]
        mean = generator.normal(0, np.sqrt(1 + of_seeds + of_sentences), DRAWN)
        parts = [
            VarianceComponent(squares[0], degrees[0]),
            VarianceComponent(np.maximum(squares[1] - squares[2], 0), degrees[1]),
        ]
        terms = sum(square**2 / d for square, d in zip(squares, degrees, strict=True))
        total = parts[0].variance + parts[1].variance
        satterthwaite = np.where(parts[1].variance > 0, np.maximum(total**2 / terms, degrees[0]), degrees[0])
        yield mean, parts, float((np.abs(mean) <= t.isf(0.025, satterthwaite) * np.sqrt(total)).mean())


@pytest.mark.first(2)
@pytest.mark.parametrize(("seeds", "theirs"), [(2, 0.88), (3, 0.93), (5, 0.945), (10, 0.95)])
def test_intervals_of_normal_tables_cover_whatever_the_variances_are(seeds: int, theirs: float) -> None:
    """Satterthwaite's cover in as few as ``theirs`` for some of the variances."""
    found = [(float((np.abs(mean) <= half_width(parts, 0.95)).mean()), other) for mean, parts, other in _normal(seeds)]
    ours, others = zip(*found, strict=True)
    assert min(ours) >= 0.935
    assert max(ours) <= 0.985
    assert min(others) < theirs


@pytest.mark.first(1)
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_p_is_below_any_level_at_most_as_often_as_the_level_says(seeds: int) -> None:
    """Where a family of 16 rows asks, at 0.003, the quantile of the interval does not do with few seeds."""
    worst = 0.0
    some = slice(0, 20)
    for mean, parts, _ in _normal(seeds):
        square = mean**2
        for level in (0.05, 0.003):
            bound = sum(t.isf(level / 2, part.degrees) ** 2 * part.variance for part in parts)
            below = float((square >= bound).mean())
            tolerance = 4 * np.sqrt(level * (1 - level) / DRAWN)
            assert below <= level + tolerance
        worst = max(worst, float((np.sqrt(square) > half_width(parts, 1 - level)).mean()))
        p = p_value(mean[some], [VarianceComponent(part.variance[some], part.degrees) for part in parts])
        assert ((p <= level) == (square >= bound)[some]).all()
    assert (worst > 2 * level) == (seeds == 2)


@pytest.mark.parametrize("seeds", [(3, 3), (3, 5), (5, 5)])
def test_unpaired_intervals_cover_too(seeds: tuple[int, int]) -> None:
    generator = np.random.default_rng(seeds)
    for of_seeds, of_sentences in product((0.0, 0.1), (0.0, 0.3)):
        tables = [
            of_seeds * generator.normal(size=(2000, count, 1))
            + of_sentences * generator.normal(size=(2000, 1, 60))
            + generator.normal(size=(2000, count, 60))
            for count in seeds
        ]
        value = tables[0].mean(axis=(1, 2)) - tables[1].mean(axis=(1, 2))
        covered = float((np.abs(value) <= half_width(chance(*tables), 0.95)).mean())
        assert 0.93 <= covered <= 0.99
