"""What a function reports: larger or lower is better, and nothing is known of what it is made of."""

import numpy as np
import pytest

from skipstack.data.tasks.measure import Measure
from skipstack.data.tasks.measures import MEASURES
from skipstack.data.tasks.reported import HIGHER, LOWER


def test_of_scores_the_larger_is_better_and_people_see_what_was_reported() -> None:
    assert (HIGHER.score(0.25), LOWER.score(0.25)) == (0.25, -0.25)
    for value in (0.25, -3.0, 0.0):
        for measure in (HIGHER, LOWER):
            assert float(measure.written(measure.score(value))) == value
            assert not measure.written(measure.score(value)).startswith("-0")
    assert HIGHER.written(123456.0) == "1.235e+05"
    assert HIGHER.written(0.00012345, "+") == "+0.0001234"
    assert LOWER.written(0.5, "+") == "-0.5"


def test_what_stands_for_less_error_is_the_better_one() -> None:
    assert HIGHER.error(0.9) < HIGHER.error(0.8)
    assert LOWER.error(0.8) < LOWER.error(0.9)


def test_it_has_no_parts() -> None:
    assert HIGHER.counted == ()
    assert np.isnan(HIGHER.of_counts(np.empty((3, 0)))).tolist() == [True] * 3
    assert not HIGHER.in_points
    assert HIGHER.name not in MEASURES


@pytest.mark.parametrize("measure", [*MEASURES.values(), HIGHER, LOWER], ids=lambda each: each.label)
def test_nothing_is_written_with_a_sign(measure: Measure) -> None:
    assert {measure.written(0.0), measure.written(-0.0)} <= {"0", "0.00"}
