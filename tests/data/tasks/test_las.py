"""The counts of attachment, against a loop over the words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.tasks.las import AttachmentCounts, attachments


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 8))
def test_counts_of_attachment_agree_with_a_loop_over_the_words(seed: int, lanes: int, words: int) -> None:
    random = np.random.default_rng(seed)
    heads, relations = random.integers(0, 3, (lanes, words)), random.integers(-1, 2, (lanes, words))
    gold_heads, gold_relations = random.integers(0, 3, words), random.integers(-1, 2, words)
    counts = attachments(heads, relations, gold_heads, gold_relations)
    for lane, word in np.ndindex(lanes, words):
        attached = bool(heads[lane, word] == gold_heads[word])
        labelled = attached and bool(relations[lane, word] == gold_relations[word] != -1)
        assert counts[lane, word].tolist() == [1, attached, labelled]


def test_attachment_scores_are_shares_of_all_words() -> None:
    counts = AttachmentCounts(words=8, attached=6, labelled=5)
    assert (counts.uas, counts.value) == (0.75, 0.625)
    assert (AttachmentCounts(0, 0, 0).uas, AttachmentCounts(0, 0, 0).value) == (0, 0)
