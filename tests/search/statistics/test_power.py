"""Power: simulated experiments at the smallest difference find it in four of five; planted noise is found again."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from skipstack.search.statistics.chance import chance, p_value
from skipstack.search.statistics.power import Noise, noise, seeds_needed, smallest_difference

PLANTED = Noise(seeds=4e-6, sentences=4e-4, rest=4e-3)
SENTENCES = 120


def tables(seeds: int, repeats: int, difference: float = 0.0) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    generator = np.random.default_rng(seeds)
    return (
        difference
        + math.sqrt(PLANTED.seeds) * generator.normal(size=(repeats, seeds, 1))
        + math.sqrt(PLANTED.sentences) * generator.normal(size=(repeats, 1, SENTENCES))
        + math.sqrt(PLANTED.rest) * generator.normal(size=(repeats, seeds, SENTENCES))
    )


def test_planted_noise_is_found_again() -> None:
    found = noise(list(tables(5, 200)))
    assert found is not None
    assert found.rest == pytest.approx(PLANTED.rest, rel=0.02)
    assert found.sentences == pytest.approx(PLANTED.sentences, rel=0.1)
    assert found.seeds == pytest.approx(PLANTED.seeds, abs=4e-6)
    assert noise([np.ones((1, 5))]) is None


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_smallest_difference_is_found_in_four_of_five_experiments(seeds: int) -> None:
    difference = smallest_difference(PLANTED, seeds=seeds, sentences=SENTENCES)
    tried_NRS = tables(seeds, 1500, difference)
    found = float((p_value(tried_NRS.mean(axis=(1, 2)), chance(tried_NRS)) < 0.05).mean())
    assert 0.72 <= found <= 0.86


@pytest.mark.parametrize(("seeds", "level"), [(3, 0.05), (5, 0.05), (30, 0.05), (30, 0.003)])
def test_where_seeds_alone_differ_it_has_the_power_by_statsmodels_too(seeds: int, level: float) -> None:
    alone = Noise(seeds=4e-6, sentences=0.0, rest=0.0)
    ours = smallest_difference(alone, seeds=seeds, sentences=100, level=level)
    assert TTestPower().power(ours / 0.002, seeds, level) == pytest.approx(0.8, abs=1e-3)


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
    stricter = seeds_needed(PLANTED, 0.01, sentences=SENTENCES, level=0.005)
    assert stricter is not None
    assert stricter > needed
    silent = Noise(seeds=0.0, sentences=0.0, rest=0.0)
    assert smallest_difference(silent, seeds=2, sentences=SENTENCES) == 0.0
