import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.models.configs.wiring import Source, below, sources


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0, (0, 0, 0, 0, 0, 0, 0)),
        (1, (0, 1, 1, 1, 1, 1, 1)),
        (2, (0, 0, 1, 0, 3, 0, 5)),
        (3, (0, 0, 0, 1, 0, 0, 4)),
        (4, (0, 0, 0, 1, 2, 3, 4)),
        (5, (0, 0, 1, 2, 3, 4, 5)),
        ("input", (0, *["input"] * 6)),
    ],
)
def test_the_types_at_depth_seven_are_as_drawn_by_hand(kind: Source, expected: tuple[Source, ...]) -> None:
    assert sources(kind, 7) == expected


@given(st.integers(0, 5), st.integers(1, 20))
def test_a_source_lies_below_and_a_deeper_stack_extends_a_shallower_one(kind: int, depth: int) -> None:
    wiring = sources(kind, depth)
    assert len(wiring) == depth
    assert all(0 <= source < layer for layer, source in enumerate(wiring, start=1))
    assert wiring == sources(kind, depth + 1)[:depth]


def test_a_tuple_is_taken_as_it_is() -> None:
    assert sources((0, 1, 0, 2), 4) == (0, 1, 0, 2)
    assert sources((0, 1, 2, 3), 4) == (0, 1, 2, 3), "span 0, the highway case"
    assert sources(("input", 0, "input"), 3) == ("input", 0, "input")


def test_a_source_is_what_lies_below_in_the_highway_case_alone() -> None:
    assert [source for source in ("input", 0, 1, 2) if below(source, 1)] == ["input"]
    assert [source for source in ("input", 0, 1, 2) if below(source, 3)] == [2]


@pytest.mark.parametrize("own", [(0, 1), (0, 2, 0), (1, 0, 0), (0, 0, -1)])
def test_a_tuple_that_is_no_wiring_is_refused(own: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="allowed"):
        sources(own, 3)
