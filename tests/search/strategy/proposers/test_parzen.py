"""Parzen estimators: the densities that they say are those of what they draw, and those of scipy's distributions."""

import itertools

import numpy as np
import pytest
from scipy import stats

from skipstack.search.strategy.proposers.parzen import Parzen
from skipstack.spaces.domains import Choice, Integer, Log, Range, Real

CHOICE, INTEGER, REAL = Choice(("a", "b", "c")), Integer(0, 7), Real(0.0, 1.0)
DOMAINS = [CHOICE, INTEGER, REAL]


def estimator(count: int, seed: int = 0) -> Parzen:
    source = np.random.default_rng(seed)
    rows_NA = np.stack(
        [source.integers(3, size=count), source.integers(8, size=count) / 7, source.random(count)], axis=1
    )
    return Parzen(DOMAINS, rows_NA, source.random(count))


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_the_density_is_one_in_all(count: int) -> None:
    """Summed over choice and integers, and integrated by the trapezoidal rule over the number."""
    fine = np.linspace(0, 1, 2001)
    total = 0.0
    for value, place in itertools.product(range(3), np.arange(8) / 7):
        rows_MA = np.stack([np.full(2001, value), np.full(2001, place), fine], axis=1)
        density_M = np.exp(estimator(count).log(rows_MA))
        total += float((density_M[1:] + density_M[:-1]).sum()) / 2 / 2000
    assert total == pytest.approx(1, abs=1e-5)


def test_what_is_drawn_has_the_density() -> None:
    """The share of 100,000 points in each of 3 x 8 x 2 parts, within five standard errors."""
    parzen = estimator(12)
    rows_MA = parzen.drawn(np.random.default_rng(5), 100_000)
    fine = (np.arange(2000) + 0.5) / 2000
    for value, place in itertools.product(range(3), range(8)):
        grid = np.stack([np.full(2000, value), np.full(2000, place / 7), fine], axis=1)
        density = np.exp(parzen.log(grid))
        for low in (0.0, 0.5):
            inside = (fine > low) & (fine < low + 0.5)
            expected = float(density[inside].sum() / 2000)
            here = (rows_MA[:, 0] == value) & (np.round(rows_MA[:, 1] * 7) == place)
            share = float((here & (rows_MA[:, 2] >= low) & (rows_MA[:, 2] < low + 0.5)).mean())
            assert abs(share - expected) < 5 * np.sqrt(expected / 100_000)


def test_it_is_the_mixture_of_scipys_distributions() -> None:
    """Of two points, by hand: widths are the distance to the farther neighbour, and at least a quarter of the range."""
    rows_NA = np.array([[0.0, 0.3], [2.0, 0.4]])
    parzen = Parzen([CHOICE, REAL], rows_NA, np.array([1.0, 0.5]))
    shares = np.array([[4 / 3, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 4 / 3]]) / 2
    shares = np.concatenate([shares, np.full((1, 3), 1 / 3)])
    at, width = np.array([0.3, 0.4, 0.5]), np.array([0.25, 0.25, 1.0])
    normals = stats.truncnorm((0 - at) / width, (1 - at) / width, at, width)
    weights = np.array([1.0, 0.5, 1.0]) / 2.5
    for value, number in ((0, 0.1), (1, 0.35), (2, 0.99)):
        expected = float((weights * shares[:, value] * normals.pdf(number)).sum())
        assert np.exp(parzen.log(np.array([[value, number]])))[0] == pytest.approx(expected)


def test_integers_far_from_a_kernel_are_exact() -> None:
    parzen = Parzen([Integer(0, 999)], np.zeros((200, 1)), np.full(200, 1e9))
    at, width = 0.0, (1 + 1 / 999) / 100
    inside = stats.norm.cdf((1 + 1 / 1998) / width) - stats.norm.cdf(-1 / 1998 / width)
    for place in (5, 50, 60):
        ends = [(at - (place + half) / 999) / width for half in (0.5, -0.5)]
        expected = (stats.norm.cdf(ends[1]) - stats.norm.cdf(ends[0])) / inside
        assert np.exp(parzen.log(np.array([[place / 999]])))[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("domain", [Integer(1, 12, log=True), Log(0.5, 8.0, 0.5)], ids=str)
@pytest.mark.parametrize("count", [0, 1, 9])
def test_values_by_logarithm_are_drawn_as_their_probabilities_say(domain: Range, count: int) -> None:
    """Their probabilities are one in all, and those of scipy's normal distributions over the cells of the values."""
    source = np.random.default_rng(count)
    rows_NA = np.array([[domain.coordinate(domain.sample(source))] for _ in range(count)]).reshape(-1, 1)
    parzen = Parzen([domain], rows_NA, np.ones(count))
    places_VA = np.array([[domain.coordinate(value)] for value in domain.values])
    shares_V = np.exp(parzen.log(places_VA))
    assert shares_V.sum() == pytest.approx(1)
    drawn = [domain.index(domain.at(place)) for place in parzen.drawn(source, 20_000)[:, 0]]
    assert stats.chisquare(np.bincount(drawn, minlength=len(shares_V)), shares_V * 20_000).pvalue > 0.001
    if count == 0:
        low, high = domain.span
        law = stats.truncnorm((low - 0.5) / (high - low), (high - 0.5) / (high - low), 0.5, high - low)
        half = domain.step / 2
        below_V, above_V = ([domain.coordinate(value + away) for value in domain.values] for away in (-half, half))
        assert shares_V == pytest.approx(law.cdf(above_V) - law.cdf(below_V))
