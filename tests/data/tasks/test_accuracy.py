"""Token counts, against a loop over the tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.tasks.accuracy import accuracy, correct_tags


@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans(), st.integers(1, 5), st.integers(1, 4))
def test_counts_agree_with_a_loop_over_the_tokens(seed: int, lanes: int, shared: bool, time: int, size: int) -> None:
    random = np.random.default_rng(seed)
    truths = 1 if shared else lanes
    predicted = random.integers(-1, 3, (lanes, time, size))
    tags = random.integers(-1, 3, (truths, time, size))
    lengths = random.integers(1, time + 1, (truths, size))
    wanted = [0] * lanes
    for lane in range(lanes):
        truth = 0 if shared else lane
        for sentence in range(size):
            for step in range(lengths[truth, sentence]):
                tag = tags[truth, step, sentence]
                wanted[lane] += bool(tag >= 0 and predicted[lane, step, sentence] == tag)
    assert correct_tags(predicted, tags, lengths).tolist() == wanted


def test_a_tag_that_train_does_not_have_is_wrong_and_padding_is_nothing() -> None:
    tags = np.array([[[0], [-1], [0]]])
    lengths = np.array([[2]])
    assert correct_tags(np.array([[[0], [-1], [0]]]), tags, lengths).tolist() == [1]


def test_accuracy_is_a_share() -> None:
    assert accuracy(3, 4) == 0.75


def test_accuracy_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0, allowed 1 or more"):
        accuracy(0, 0)
