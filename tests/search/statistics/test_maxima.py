"""What further draws add to the best, against enumerations and known distributions."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.statistics.maxima import CONFIDENCE, gain_of_more

SCORES = st.lists(st.integers(-50, 50), min_size=4, max_size=12).map(lambda values: [value / 8 for value in values])


@given(st.lists(st.integers(0, 20), min_size=1, max_size=4), st.integers(2, 4))
def test_a_draw_adds_an_nth_of_the_gap_below_the_best_of_n(values: list[int], number: int) -> None:
    """E[max of n] - E[max of n - 1] = E[v_1 - v_2] / n, by all draws of n values."""
    draws = [sorted(each) for each in product(values, repeat=number)]
    best = sum(each[-1] for each in draws) / len(draws)
    before = sum(max(each) for each in product(values, repeat=number - 1)) / len(values) ** (number - 1)
    gap = sum(each[-1] - each[-2] for each in draws) / len(draws)
    assert best - before == pytest.approx(gap / number)


@given(SCORES, st.floats(0.5, 100.0), st.integers(1, 3))
def test_it_is_the_mean_spacing_of_the_best_and_its_limit(scores: list[float], more: float, best: int) -> None:
    from scipy.stats import chi2

    ordered = sorted(scores, reverse=True)
    spacings = [place * (ordered[place - 1] - ordered[place]) for place in range(1, best + 1)]
    limit = 2 * sum(spacings) / chi2.ppf(1 - CONFIDENCE, 2 * best)
    assert gain_of_more(scores, more, best=best) == pytest.approx(
        limit * math.log((len(scores) + more) / len(scores)), abs=1e-12
    )


@given(SCORES, st.floats(0.1, 10.0), st.floats(-5.0, 5.0), st.randoms())
def test_it_knows_neither_the_unit_nor_the_zero_nor_the_order(
    scores: list[float], unit: float, zero: float, random: object
) -> None:
    changed = [unit * score + zero for score in scores]
    random.shuffle(changed)  # type: ignore[attr-defined]
    assert gain_of_more(changed, 3, best=2) == pytest.approx(unit * gain_of_more(scores, 3, best=2), abs=1e-9)


@given(SCORES, st.floats(0.5, 50.0))
def test_more_draws_add_more_each_less_than_the_one_before(scores: list[float], more: float) -> None:
    once, twice = gain_of_more(scores, more, best=2), gain_of_more(scores, 2 * more, best=2)
    assert 0 <= once <= twice <= 2 * once + 1e-12


@pytest.mark.parametrize("number", [20, 60])
@pytest.mark.parametrize("more", [1, 5, 40])
@pytest.mark.parametrize(
    ("name", "surer"), [("exponential", False), ("normal", True), ("uniform", True), ("ceiling", True)]
)
def test_nine_times_of_ten_it_is_no_less_than_what_is_added(name: str, surer: bool, more: int, number: int) -> None:
    """Of an exponential tail exactly so often; the expected gain is known from many draws, or in closed form."""
    quantile = {
        "exponential": lambda share: -np.log1p(-share),
        "normal": None,
        "uniform": lambda share: share,
        "ceiling": np.log,
    }[name]
    generator = np.random.default_rng(3)
    if quantile is None:
        expected = [generator.normal(size=(20_000, count)).max(axis=1).mean() for count in (number, number + more)]
        truth, draws = expected[1] - expected[0], generator.normal(size=(400, number))
    else:
        grid = (np.arange(200_000) + 0.5) / 200_000
        steps = np.arange(200_001) / 200_000
        values = quantile(grid)
        truth = values @ np.diff(steps ** (number + more)) - values @ np.diff(steps**number)
        draws = quantile(generator.random((400, number)))
    share = np.mean([gain_of_more(each.tolist(), more, best=number // 2) >= truth for each in draws])
    assert share > 0.985 if surer else 0.85 < share < 0.96, share
