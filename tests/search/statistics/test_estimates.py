"""Estimates: Student's over the seeds, wider where sentences matter, none where nothing shows the chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp
from statsmodels.stats.multitest import multipletests

from skipstack.search.statistics.descriptive import effect_size
from skipstack.search.statistics.estimates import (
    NO_CHANCE,
    ONE_CORPUS,
    ONE_SEED,
    Estimate,
    mean_over_corpora,
    over_seeds,
    over_sentences_too,
)
from skipstack.search.statistics.multiple_testing import LEVEL, CorrectedTest, holm


def test_without_sentences_it_is_students() -> None:
    values = [0.91, 0.93, 0.92, 0.95]
    made, theirs = over_seeds(values), ttest_1samp(values, 0.0)
    interval = theirs.confidence_interval(0.95)
    assert (made.value, made.low, made.high) == pytest.approx((np.mean(values), interval.low, interval.high))
    assert (made.error, made.degrees) == pytest.approx((np.std(values, ddof=1) / 2, 3))
    assert (made.seeds, made.sentences, made.why) == (4, None, "")
    assert made.half == pytest.approx((interval.high - interval.low) / 2)


def test_with_sentences_the_interval_has_its_error_and_degrees_and_is_wider_than_that_of_seeds() -> None:
    generator = np.random.default_rng(0)
    table_RS = 0.2 * generator.normal(size=400) + 0.1 * generator.normal(size=(5, 400))
    made, alone = over_sentences_too(0.03, table_RS), over_seeds(table_RS.mean(axis=1).tolist())
    assert made.half is not None
    assert made.error is not None
    assert made.degrees is not None
    assert made.half == pytest.approx(t.isf(0.025, made.degrees) * made.error)
    assert (made.low, made.high) == pytest.approx((0.03 - made.half, 0.03 + made.half))
    assert alone.half is not None
    assert made.half > 2 * alone.half
    assert 4 < made.degrees < 399
    assert made.p is not None
    assert made.p < 0.05
    assert (made.seeds, made.sentences) == (5, 400)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (over_seeds([0.9]), ONE_SEED),
        (over_sentences_too(0.1, np.ones((1, 5))), ONE_SEED),
        (over_seeds([0.25, 0.25]), NO_CHANCE),
        (over_sentences_too(0.0, np.zeros((3, 5))), NO_CHANCE),
        (over_seeds([0.74] * 3), NO_CHANCE),  # whose mean is 1.1e-16 away
        (over_seeds([1e6 / 3] * 3), NO_CHANCE),
        (over_seeds([0.8 - 0.74, 0.7 - 0.64, 0.9 - 0.84], scale=0.9), NO_CHANCE),
        (over_sentences_too(0.06, 0.8 - np.full((3, 5), 0.74) + 1e-16 * np.arange(5), scale=0.8), NO_CHANCE),
        (mean_over_corpora([over_seeds([0.1, 0.2])]), ONE_CORPUS),
    ],
)
def test_where_nothing_shows_the_chance_there_is_no_interval(made: Estimate, why: str) -> None:
    assert made.why == why
    assert (made.low, made.high, made.half, made.error, made.degrees, made.p) == (None,) * 6


def test_a_small_spread_is_no_rounding() -> None:
    for shift in (0.0, 1.0):
        made = over_seeds([shift + 1e-9, shift + 2e-9, shift + 4e-9])
        assert made.p is not None
    assert effect_size([0.3, 0.3 + 1e-9], [0.3, 0.3]) is not None


def test_holm_is_that_of_statsmodels_and_leaves_out_what_was_not_asked() -> None:
    generator = np.random.default_rng(0)
    for size in range(1, 8):
        values = generator.random(size).tolist()
        by_statsmodels = multipletests(values, method="holm")[1]
        assert [each.p for each in holm([None, *values])] == pytest.approx([None, *by_statsmodels])
    assert holm([]) == ()
    assert holm([None]) == (CorrectedTest(None, None),)


def test_a_question_that_several_rows_ask_is_corrected_once() -> None:
    found = holm([0.01, 0.03, 0.01, None], ["a", "b", "a", "c"])
    assert [each.p for each in found] == pytest.approx([0.02, 0.03, 0.02, None])


def test_an_effect_size_counts_standard_deviations_of_both() -> None:
    ours, theirs = [0.94, 0.96, 0.95], [0.90, 0.91, 0.95]
    pooled = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 2)
    assert effect_size(ours, theirs) == pytest.approx(0.8 * (0.95 - 0.92) / pooled)
    assert effect_size([0.9], [0.8]) is None
    assert effect_size([0.9, 0.9], [0.8, 0.8]) is None
    assert effect_size([0.1 + 0.2, 0.3, 0.3], [0.74] * 3) is None


def test_a_true_effect_size_is_found_on_the_average() -> None:
    generator = np.random.default_rng(0)
    drawn = generator.normal(size=(4000, 2, 4)) + np.array([[1.0], [0.0]])
    assert np.mean([effect_size(ours, theirs) for ours, theirs in drawn]) == pytest.approx(1.0, abs=0.05)


P_VALUES = st.lists(
    st.none() | st.sampled_from([0.001, 0.01, 0.0125, 0.02, 0.03, 0.05]) | st.floats(1e-9, 1), max_size=8
)


@given(values=P_VALUES, data=st.data())
def test_a_p_value_is_below_its_level_where_holm_marks_it_and_nowhere_else(
    values: list[float | None], data: st.DataObject
) -> None:
    keys = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)))
    of_question = dict(zip(keys, values, strict=True))
    same = [of_question[key] for key in keys]  # one hypothesis has one p value
    for value, test in zip(same, holm(same, keys), strict=True):
        if value is None or test.p is None or test.level is None:
            assert value is test.p is test.level is None
        elif test.p != pytest.approx(LEVEL):  # at the very bound, rounding decides
            assert (value < test.level) == (test.p < LEVEL) == test.marked


@pytest.mark.slow
@given(seed=st.integers(0, 1000), level=st.floats(1e-6, 0.2))
def test_an_interval_at_a_level_ends_where_p_is_that_level(seed: int, level: float) -> None:
    table_RS = np.random.default_rng(seed).normal(size=(4, 30))
    found = over_sentences_too(float(table_RS.mean()), table_RS).interval(level)
    assert found is not None
    half = (found[1] - found[0]) / 2
    p = over_sentences_too(half, table_RS).p  # as far from 0 as the interval reaches
    assert p == pytest.approx(level, rel=1e-6)
