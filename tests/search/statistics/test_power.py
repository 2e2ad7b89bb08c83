"""Power: simulated families mark one of their rows as often as is said; planted noise is found again."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.stats.power import TTestPower

from skipstack.search.statistics.chance import chance, p_value
from skipstack.search.statistics.multiple_testing import holm
from skipstack.search.statistics.power import Noise, chances, noise, seeds_needed, smallest_difference
from tests.search.statistics.simulated_power import first_is_marked

PLANTED = Noise(seeds=4e-6, sentences=4e-4, rest=4e-3)
SENTENCES = 120
Values = NDArray[np.float64]


def family(seeds: int, questions: int, repeats: int, source: int = 0) -> Values:
    """Tables of differences without effect between rows and their base, which all have half of the planted noise."""
    generator = np.random.default_rng([source, seeds])
    shape = (1 + questions, repeats)
    made = (
        math.sqrt(PLANTED.seeds / 2) * generator.normal(size=(*shape, seeds, 1))
        + math.sqrt(PLANTED.sentences / 2) * generator.normal(size=(*shape, 1, SENTENCES))
        + math.sqrt(PLANTED.rest / 2) * generator.normal(size=(*shape, seeds, SENTENCES))
    )
    return made[1:] - made[0]


@cache
def marks(seeds: int, questions: int, difference: float) -> tuple[float, float]:
    """How often a row with this true difference is marked by Holm among rows without, and how large it then is."""
    tables_QNRS = family(seeds, questions, 1500)
    values_QN = tables_QNRS.mean(axis=(2, 3))
    values_QN[0] += difference
    p_QN = p_value(values_QN, chance(tables_QNRS))
    marked_N = first_is_marked(p_QN)
    return float(marked_N.mean()), float(np.abs(values_QN[0, marked_N]).mean()) / difference


@pytest.mark.slow
def test_the_simulation_marks_as_holm_does() -> None:
    p_QN = np.random.default_rng(0).random((3, 40)) ** 4
    assert first_is_marked(p_QN).tolist() == [holm(p_Q)[0].marked for p_Q in p_QN.T.tolist()]
    assert len(set(first_is_marked(p_QN))) == 2


def test_planted_noise_is_found_again() -> None:
    found = noise(list(family(5, 1, 200)[0]))
    assert found is not None
    assert found.rest == pytest.approx(PLANTED.rest, rel=0.02)
    assert found.sentences == pytest.approx(PLANTED.sentences, rel=0.1)
    assert found.seeds == pytest.approx(PLANTED.seeds, abs=4e-6)
    assert noise([np.ones((1, 5))]) is None


@pytest.mark.first(1)
@pytest.mark.parametrize("questions", [1, 7])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_a_row_is_marked_in_its_family_as_often_as_is_said_and_then_shown_as_large(seeds: int, questions: int) -> None:
    smallest = smallest_difference(PLANTED, seeds=seeds, sentences=SENTENCES, questions=questions)
    for difference in (smallest, smallest / 2):
        told = chances(PLANTED, difference, seeds=seeds, sentences=SENTENCES, questions=questions)
        marked, shown = marks(seeds, questions, difference)
        assert told.marked == pytest.approx(marked, abs=0.03)
        assert told.overstated == pytest.approx(shown, rel=0.04)
    assert chances(PLANTED, smallest, seeds=seeds, sentences=SENTENCES, questions=questions).marked == pytest.approx(
        0.8, abs=0.002
    )


@pytest.mark.slow
@pytest.mark.parametrize("questions", [2, 17])
@pytest.mark.parametrize("seeds", [3, 10])
def test_where_the_noise_is_estimated_from_the_rows_themselves_it_is_so_on_average(seeds: int, questions: int) -> None:
    """Each family says what it could detect; how often would another one have detected it?"""
    found = []
    for tables_RS in np.moveaxis(family(seeds, questions, 120, source=1), 1, 0):
        estimated = noise(list(tables_RS))
        assert estimated is not None
        said = smallest_difference(estimated, seeds=seeds, sentences=SENTENCES, questions=questions)
        found.append(chances(PLANTED, said, seeds=seeds, sentences=SENTENCES, questions=questions).marked)
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(("seeds", "questions"), [(3, 1), (5, 1), (30, 1), (5, 7), (30, 17)])
def test_where_seeds_alone_differ_it_has_the_power_by_statsmodels_too(seeds: int, questions: int) -> None:
    alone = Noise(seeds=4e-6, sentences=0.0, rest=0.0)
    ours = smallest_difference(alone, seeds=seeds, sentences=100, questions=questions)
    assert TTestPower().power(ours / 0.002, seeds, 0.05 / questions) == pytest.approx(0.8, abs=3e-3)


def test_more_seeds_tell_smaller_differences_until_the_sentences_set_an_end() -> None:
    told = [smallest_difference(PLANTED, seeds=seeds, sentences=SENTENCES) for seeds in (1, 2, 3, 5, 10, 100)]
    assert told == sorted(told, reverse=True)
    assert told[0] == math.inf
    end = 2.8 * math.sqrt(PLANTED.sentences / SENTENCES)
    assert seeds_needed(PLANTED, 0.95 * end, sentences=SENTENCES) is None
    needed = seeds_needed(PLANTED, 0.01, sentences=SENTENCES)
    assert needed is not None
    by_hand = next(n for n in range(2, 99) if smallest_difference(PLANTED, seeds=n, sentences=SENTENCES) <= 0.01)
    assert needed == by_hand
    stricter = seeds_needed(PLANTED, 0.01, sentences=SENTENCES, questions=10)
    assert stricter is not None
    assert stricter > needed
    silent = Noise(seeds=0.0, sentences=0.0, rest=0.0)
    assert smallest_difference(silent, seeds=2, sentences=SENTENCES) == 0.0


def test_noise_that_is_known_from_few_seeds_detects_less() -> None:
    known, guessed = (
        smallest_difference(replace(PLANTED, degrees=degrees), seeds=3, sentences=SENTENCES)
        for degrees in (math.inf, 2.0)
    )
    assert guessed > 1.2 * known
