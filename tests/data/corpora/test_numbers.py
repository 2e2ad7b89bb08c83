"""Number prediction against the paper's rule, read literally."""

from collections import Counter
from itertools import combinations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.corpora.synthetic import numbers
from skipstack.data.corpora.synthetic.numbers import CountedFrom, NumbersCorpus

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


@given(seed=st.integers(0, 2**31), length=st.integers(21, 25))
def test_in_windows_each_number_counts_into_the_ten_before_it(seed: int, length: int) -> None:
    for text in numbers.sentences(seed, "test", 20, length=length, jumps=2, counted_from="window"):
        before = [int(word) for word in text.words]
        for _ in range(2):
            pointer = before.pop()
            before = before[: len(before) - 9 + pointer]
        assert text.tags == (str(before[-1]),)


def test_one_jump_is_the_same_wherever_numbers_count_from() -> None:
    from_start, in_windows = (
        numbers.sentences(6, "dev", COUNT, length=14, jumps=1, counted_from=rule) for rule in get_args(CountedFrom)
    )
    assert from_start == in_windows


def test_a_text_that_is_too_short_for_its_windows_is_refused_and_a_config_of_before_reads_and_writes_as_before() -> (
    None
):
    with pytest.raises(
        ValidationError, match=r"got length 20 \(allowed for 2 jumps counted from window: at least 21\)"
    ):
        NumbersCorpus(length=20, jumps=2, counted_from="window")
    assert NumbersCorpus(length=21, jumps=2, counted_from="window").model_dump()["counted_from"] == "window"
    assert "counted_from" not in NumbersCorpus.model_validate({"kind": "numbers", "jumps": 2}).model_dump()


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "share"), [("start", 0.282), ("window", 0.19)])
def test_what_a_constant_place_answers(rule: CountedFrom, share: float) -> None:
    """The best of the places that one may answer always; under ``start`` it beats the paper's LSTM."""
    texts = numbers.sentences(7, "test", 20_000, length=21, jumps=2, counted_from=rule)
    right = [sum(text.words[place] == text.tags[0] for text in texts) / len(texts) for place in range(21)]
    assert max(right) == pytest.approx(share, abs=0.02)


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


@pytest.mark.parametrize(("jumps", "rule"), [(1, "start"), (2, "start"), (2, "window")])
def test_all_digits_are_labels(jumps: int, rule: CountedFrom) -> None:
    texts = numbers.sentences(5, "train", 20_000, length=21, jumps=jumps, counted_from=rule)
    labels = Counter(text.tags[0] for text in texts)
    assert set(labels) == set("0123456789")
    assert min(labels.values()) > 1500


def test_jumps_that_too_few_texts_could_follow_are_refused() -> None:
    """Digits that descend are a set of them, so of 10**n texts C(10, n) follow n jumps."""
    most = numbers.MOST_JUMPS
    shares = {jumps: len([*combinations(range(10), jumps)]) / 10**jumps for jumps in (2, most, most + 1, 11)}
    drawn = numbers.sentences(0, "train", 20_000, length=11, jumps=1)
    descending = [text for text in drawn if int(text.words[int(text.words[-1])]) < int(text.words[-1])]
    assert abs(len(descending) / len(drawn) - shares[2]) < 0.02
    assert shares[most] > 1e-5 > shares[most + 1] > shares[11] == 0
    assert NumbersCorpus(jumps=most).jumps == most
    for jumps in (most + 1, 11):
        with pytest.raises(ValidationError, match=rf"got {jumps} jumps counted from start \(allowed: 1 to {most}, or "):
            NumbersCorpus(jumps=jumps)
    assert NumbersCorpus(jumps=11, length=111, counted_from="window").jumps == 11
