"""Quantiles of waits without an end, against numpy and against what a very late end would give."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.search.statistics.censored_quantiles import QUARTILES, quantile

WAITS = st.lists(st.integers(0, 1000).map(float), min_size=1, max_size=25)


@given(WAITS, st.floats(0, 1))
def test_waits_that_all_end_have_the_quantiles_of_numpy(waits: list[float], share: float) -> None:
    assert quantile(waits, share) == pytest.approx(float(np.quantile(waits, share)), abs=1e-9)


@given(WAITS, st.integers(1, 10), st.sampled_from(QUARTILES))
def test_no_end_is_later_than_any(waits: list[float], endless: int, share: float) -> None:
    """In numpy an end at a billion stands for none: a quantile that it touches is far beyond the others."""
    late = float(np.quantile([*waits, *[1e9] * endless], share))
    found = quantile([*waits, *[math.inf] * endless], share)
    assert math.isinf(found) if late > 1e6 else found == pytest.approx(late)


def test_small_cases_by_hand() -> None:
    assert quantile([3.0], 0.25) == 3
    assert quantile([1.0, 2.0, math.inf], 0.5) == 2
    assert quantile([1.0, 2.0, math.inf, math.inf], 0.5) == math.inf
    assert quantile([math.inf] * 4, 0.25) == math.inf
    with pytest.raises(ValueError, match="no waits"):
        quantile([], 0.5)
