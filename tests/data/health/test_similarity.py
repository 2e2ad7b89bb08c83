"""How alike corpora are, held against factors that were planted."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.health.health import Health, SplitHealth
from skipstack.data.health.similarity import similarity

LARGE = 10**9
"""Counts beside which the one that is added to each makes no difference."""


def split(**counts: int) -> SplitHealth:
    given = {"sentences": LARGE, "tokens": 20 * LARGE, "words": LARGE, "unknown_tokens": LARGE, "tags": 20 * LARGE}
    given |= {"different_tags": LARGE, "unknown_tags": 0, "commonest_tags": 10 * LARGE, "median": 20, "longest": 90}
    return SplitHealth.model_validate({"commonest": None, "spans": None, **given, **counts})


def health(train: dict[str, int] | None = None, dev: dict[str, int] | None = None) -> Health:
    return Health(splits={"train": split(**train or {}), "dev": split(**dev or {})}, tags={})


PLANTED = {
    "sentences and their length": (health(train={"sentences": 2 * LARGE}), 2),
    "length": (health(train={"tokens": 40 * LARGE}), 1),
    "words": (health(train={"words": 2 * LARGE}), 1),
    "tags": (health(train={"different_tags": 2 * LARGE}), 1),
    "unknown words": (health(dev={"unknown_tokens": 2 * LARGE}), 1),
    "what the commonest tag is not": (health(dev={"commonest_tags": 15 * LARGE}), 1),
}


@pytest.mark.parametrize("name", PLANTED)
def test_of_six_numbers_each_counts_with_its_factor(name: str) -> None:
    """Twice as many sentences of as many tokens are half as long."""
    other, numbers = PLANTED[name]
    assert similarity(health(), other) == pytest.approx(2 ** (-numbers / 6), abs=1e-6)


def test_spans_beside_none_are_half_as_similar() -> None:
    spans = health(train={"spans": 0})
    assert similarity(spans, spans) == 1
    assert similarity(health(), spans) == similarity(spans, health()) == 0.5


COUNTS = st.fixed_dictionaries(
    {name: st.integers(0, 10**6) for name in ("sentences", "words", "different_tags", "unknown_tokens")}
    | {"tokens": st.integers(10**6, 10**8), "tags": st.integers(10**6, 10**8), "commonest_tags": st.integers(0, 10**6)}
)
HEALTH = st.builds(health, COUNTS, COUNTS)


@given(HEALTH, HEALTH, HEALTH)
def test_it_is_symmetric_and_of_three_corpora_none_is_nearer_by_a_detour(a: Health, b: Health, c: Health) -> None:
    """-ln is a distance."""
    assert 0 < similarity(a, b) <= 1
    assert similarity(a, b) == pytest.approx(similarity(b, a))
    assert similarity(a, a) == 1
    apart = [-math.log(similarity(*pair)) for pair in ((a, c), (a, b), (b, c))]
    assert apart[0] <= apart[1] + apart[2] + 1e-9
