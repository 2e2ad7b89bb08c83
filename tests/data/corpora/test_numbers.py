"""Number prediction against the paper's rule, read literally."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.corpora.synthetic import numbers

COUNT = 400


@given(seed=st.integers(0, 2**31), length=st.integers(11, 25))
def test_one_jump_is_the_number_that_the_last_one_points_at(seed: int, length: int) -> None:
    for text in numbers.sentences(seed, "train", 20, length=length, jumps=1):
        x = [int(word) for word in text.words]
        assert len(x) == length
        assert text.tags == (str(x[length - 11 + x[-1]]),)


@given(seed=st.integers(0, 2**31))
def test_two_jumps_go_backwards(seed: int) -> None:
    for text in numbers.sentences(seed, "dev", 20, length=21, jumps=2):
        x = [int(word) for word in text.words]
        a = x[20]
        b = x[10 + a]
        assert b < a
        assert text.tags == (str(x[10 + b]),)


def test_the_papers_example_of_two_jumps() -> None:
    x = [8, 5, 1, 7, 1, 3, 3, 4, 7, 9, 4]
    assert x[x[4]] == 5  # x[10] = 4, x[4] = 1, x[1] = 5: where T = 11, places count from 0
    texts = {text.words: text.tags for text in numbers.sentences(3, "train", 20_000, length=11, jumps=2)}
    assert all(tags == (words[int(words[int(words[10])])],) for words, tags in texts.items())


def test_splits_and_seeds_differ_and_a_seed_repeats() -> None:
    first = numbers.sentences(1, "train", COUNT, length=11, jumps=1)
    assert first == numbers.sentences(1, "train", COUNT, length=11, jumps=1)
    assert first != numbers.sentences(1, "dev", COUNT, length=11, jumps=1)
    assert first != numbers.sentences(2, "train", COUNT, length=11, jumps=1)


@pytest.mark.parametrize("jumps", [1, 2])
def test_all_digits_are_labels(jumps: int) -> None:
    labels = Counter(text.tags[0] for text in numbers.sentences(5, "train", 20_000, length=21, jumps=jumps))
    assert set(labels) == set("0123456789")
    assert min(labels.values()) > 1500
