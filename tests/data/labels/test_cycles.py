"""Cycles among heads, against the enumeration of all trees."""

from itertools import product

import pytest

from skipstack.data.labels.trees import find_cycle
from tests.oracles.trees import trees


@pytest.mark.parametrize("words", [0, 1, 2, 3, 4])
def test_heads_have_a_cycle_exactly_where_they_are_no_tree(words: int) -> None:
    known = set(trees(words, single_root=False))
    assert len(known) == max(1, (words + 1) ** (words - 1))  # Cayley's formula
    for heads in product(range(words + 1), repeat=words):
        cycle = find_cycle(heads)
        assert (not cycle) == (heads in known)
        assert all(heads[word - 1] == head for word, head in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        assert len(set(cycle)) == len(cycle)
        assert not cycle or cycle[0] == min(cycle)
