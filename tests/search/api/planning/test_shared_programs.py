"""How many trials share a program, against counting by hand."""

import pytest

from skipstack.search.api.planning.shared_programs import programs, trials_per_shared_program
from skipstack.spaces.space import Space
from tests.search.made_up import AXES, DEPTH, RATE, study


@pytest.mark.parametrize(
    ("kinds", "most", "count"),
    [
        ("aaaa", 2, 2),
        ("aaaaa", 2, 3),
        ("abab", 2, 2),
        ("abcabc", 3, 3),
        ("aabbcc", 2, 3),
        ("abcdabcd", 2, 8),  # a, with b and c waiting: the second a has not come yet; and so on
        ("abcdabcd", 4, 4),
        ("abcd", 4, 4),
        ("", 4, 0),
    ],
)
def test_the_first_that_waits_begins_a_program_with_those_that_come_soon(kinds: str, most: int, count: int) -> None:
    assert programs(kinds, most) == count


def test_trials_that_differ_in_rates_share_and_those_that_differ_in_depth_do_not() -> None:
    rates, depths = study({RATE: AXES[RATE]}, trials=20), study({DEPTH: {"choice": [1, 3, 5]}}, proposer="grid")
    assert trials_per_shared_program(rates.search, Space(rates.space), 20, 4, on_cpu=True) == 4.0
    assert trials_per_shared_program(rates.search, Space(rates.space), 20, 1, on_cpu=True) == 1.0
    assert trials_per_shared_program(depths.search, Space(depths.space), 3, 4, on_cpu=True) == 1.0


def test_what_is_not_as_by_itself_on_a_cpu_is_alone_there_and_not_on_a_gpu() -> None:
    config = study({RATE: AXES[RATE], "training.precision": {"choice": ["tf32"]}}, trials=8)
    space = Space(config.space)
    assert trials_per_shared_program(config.search, space, 8, 4, on_cpu=True) == 1.0
    assert trials_per_shared_program(config.search, space, 8, 4, on_cpu=False) == 4.0
