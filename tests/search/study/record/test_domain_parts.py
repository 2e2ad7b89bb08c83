"""The parts of a domain: each value in exactly one, the labels true to what they hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from skipstack.search.study.record.domain_parts import LISTED, RANGES, parts
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Log, Normal, Ordinal, Range, Real
from skipstack.spaces.short_names import value_text


def _domains() -> some.SearchStrategy[Domain]:
    positive = some.floats(1e-8, 1e8)
    finite = some.floats(-1e8, 1e8)
    whole = some.integers(-1000, 1000)
    plain = some.sampled_from([0.0, 1.0, 2.0, "1", "a"])
    scalars: some.SearchStrategy[Json] = some.one_of(some.booleans(), some.integers(0, 2), plain)
    return some.one_of(
        some.tuples(positive, positive).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: Log(*pair)),
        some.tuples(finite, finite).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: Real(*pair)),
        some.tuples(whole, whole).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: Integer(*pair)),
        some.lists(scalars, min_size=1, max_size=6, unique_by=repr).map(lambda values: Choice(tuple(values))),
        some.lists(scalars, min_size=1, max_size=6, unique_by=repr).map(lambda values: Ordinal(tuple(values))),
        some.tuples(some.integers(1, 99), some.integers(1, 200)).map(
            lambda each: Integer(each[0], sum(each), log=True)
        ),
        some.tuples(some.integers(1, 99), some.integers(1, 99), some.integers(1, 9)).map(_in_steps),
        some.tuples(some.integers(1, 99), some.integers(1, 99), some.booleans()).map(lambda each: Normal(*each)),
    )


def _in_steps(numbers: tuple[int, int, int]) -> Real:
    low, count, step = numbers
    return Real(low / 10, (low + count * step) / 10, step / 10)


@given(_domains(), some.integers(0, 2**32 - 1))
def test_every_value_of_a_domain_is_in_exactly_one_part(domain: Domain, seed: int) -> None:
    values = [domain.sample(np.random.default_rng(seed)), domain.first]
    values += domain.ends
    for value in values:
        assert sum(part.holds(value) for part in parts(domain)) == 1, value


@given(_domains(), some.integers(0, 2**32 - 1))
def test_a_label_says_exactly_what_its_range_holds(domain: Domain, seed: int) -> None:
    if not isinstance(domain, Range) or (domain.finite and len(domain.values) <= LISTED):
        return
    value = domain.sample(np.random.default_rng(seed))
    assert isinstance(value, int | float)
    cut = parts(domain)
    bounds = [tuple(map(float, part.label.split(" – "))) for part in cut]
    assert (bounds[0][0], bounds[-1][1]) == (domain.low, domain.high)
    assert bounds == sorted(bounds)
    for (low, high), part in zip(bounds, cut, strict=True):
        last = high == domain.high
        within = low <= value <= high if last or domain.finite else low <= value < high
        assert part.holds(value) == within


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        (Log(0.003, 0.03), ["0.003 – 0.0065", "0.0065 – 0.014", "0.014 – 0.03"]),
        (Log(1e-4, 1e-1), ["0.0001 – 0.001", "0.001 – 0.01", "0.01 – 0.1"]),
        (Real(0.0, 0.9), ["0 – 0.3", "0.3 – 0.6", "0.6 – 0.9"]),
        (Real(100.0, 101.0), ["100 – 100.3", "100.3 – 100.7", "100.7 – 101"]),
        (Real(1.0, np.nextafter(1.0, 2.0).item()), ["1 – 1.0000000000000002"]),
        (Integer(8, 64), ["8 – 26", "27 – 45", "46 – 64"]),
        (Integer(1, 4), ["1", "2", "3", "4"]),
        (Integer(1, 57, 8), ["1", "9", "17", "25", "33", "41", "49", "57"]),
        (Integer(1, 64, log=True), ["1 – 3", "4 – 15", "16 – 64"]),
        (Real(0.0, 1.0, 0.1), ["0 – 0.2", "0.3 – 0.6", "0.7 – 1"]),
        (Real(0.0, 0.5, 0.25), ["0.0", "0.25", "0.5"]),
        (Normal(0.0, 1.0), ["below -0.43", "-0.43 – 0.43", "0.43 or more"]),
        (Ordinal(("low", 5)), ["low", "5"]),
        (Choice((5, 1, 3)), ["5", "1", "3"]),
        (Choice((100, {"size": 0}), ("with words", "characters only")), ["with words", "characters only"]),
        (Choice(("none", [0, 0, 1], True, 1, 1.0, None)), ["none", "[0,0,1]", "true", "1", "1.0", "null"]),
    ],
)
def test_parts_are_named_as_a_reader_expects(domain: Domain, labels: list[str]) -> None:
    assert [part.label for part in parts(domain)] == labels
    assert len(labels) <= max(RANGES, LISTED)


def test_values_that_python_holds_equal_stay_apart() -> None:
    values: tuple[Json, ...] = (True, 1, 1.0)
    for place, value in enumerate(values):
        held = [part.holds(value) for part in parts(Choice(values))]
        assert held == [place == other for other in range(3)]


def test_a_value_is_written_in_full_and_on_one_line() -> None:
    assert value_text("two words") == "two words"
    assert value_text("two\nlines") == '"two\\nlines"'
    assert value_text(list(range(100))).endswith(",98,99]")
