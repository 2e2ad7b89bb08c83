"""Random numbers by counting: beside the words that Random123, the program of its authors, is tested by."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from skipstack.models.kernels.draws import drawn
from skipstack.models.kernels.philox import philox
from tests.models.kernels.chosen import chosen

KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
"""Counter, key and words (kat_vectors, philox4x32 10)."""


def whole(words: str) -> list[int]:
    return [int(word, 16) for word in words.split()]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_it_is_philox(counter: str, key: str, words: str) -> None:
    low, high = (torch.tensor(word) for word in whole(key))
    assert [int(word) for word in philox(tuple(map(torch.tensor, whole(counter))), (low, high))] == whole(words)


KEYS = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=3)


@given(keys=KEYS, draw=st.integers(1, 2**50), numbers=st.integers(0, 70), dtype=st.sampled_from(["float32", "float64"]))
def test_a_lane_draws_the_same_numbers_in_company_and_compiled(
    keys: list[int], draw: int, numbers: int, dtype: str
) -> None:
    key_R, like_RN = torch.tensor(keys), torch.empty(len(keys), numbers, dtype=getattr(torch, dtype))
    with chosen("compiled"):
        ours = drawn(key_R, draw, like_RN)
        known = drawn(key_R, torch.tensor(draw), like_RN)
    with chosen("reference"):
        alone = [drawn(key_R[lane : lane + 1], draw, like_RN[:1]) for lane in range(len(keys))]
        counted = drawn(key_R, torch.tensor(draw), like_RN)
    assert torch.equal(ours, torch.cat(alone))
    assert torch.equal(ours, counted)
    assert torch.equal(ours, known)
    assert ours.dtype == like_RN.dtype


def test_numbers_fill_the_interval_evenly_and_draws_keys_and_places_have_nothing_in_common() -> None:
    """Chi-squared over 64 intervals, and correlations, of 2^18 numbers: 5 standard deviations at most. The key and the
    draws are these, so it is the same every time.
    """
    like_RN = torch.empty(2, 2**18, dtype=torch.float64)
    first, second = (drawn(torch.tensor([3, 4]), draw, like_RN) for draw in (1, 2))
    counts = torch.histc(first[0], bins=64, min=0, max=1)
    expected = like_RN.shape[1] / 64
    assert abs(float(((counts - expected) ** 2 / expected).sum()) - 63) < 5 * math.sqrt(2 * 63)
    others = first[1], second[0], first[0].roll(1), first[0].roll(like_RN.shape[1] // 4)
    for other in others:
        assert abs(float(torch.corrcoef(torch.stack([first[0], other]))[0, 1])) < 5 / math.sqrt(like_RN.shape[1])
