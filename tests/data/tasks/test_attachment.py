"""Cycles among heads, and the counts of attachment, against the enumeration of all heads and a loop over the words."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.labels.trees import find_cycle
from skipstack.data.tasks.las import AttachmentCounts, count_attachments
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


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 8))
def test_counts_of_attachment_agree_with_a_loop_over_the_words(seed: int, lanes: int, words: int) -> None:
    random = np.random.default_rng(seed)
    heads, relations = random.integers(0, 3, (lanes, words)), random.integers(-1, 2, (lanes, words))
    gold_heads, gold_relations = random.integers(0, 3, words), random.integers(-1, 2, words)
    for lane, counts in enumerate(count_attachments(heads, relations, gold_heads, gold_relations)):
        attached = labelled = 0
        for word in range(words):
            if heads[lane, word] == gold_heads[word]:
                attached += 1
                labelled += bool(relations[lane, word] == gold_relations[word] != -1)
        assert counts == AttachmentCounts(words, attached, labelled)


def test_attachment_scores_are_shares_of_all_words() -> None:
    counts = AttachmentCounts(words=8, attached=6, labelled=5)
    assert (counts.uas, counts.las) == (0.75, 0.625)
    assert (AttachmentCounts(0, 0, 0).uas, AttachmentCounts(0, 0, 0).las) == (0, 0)
