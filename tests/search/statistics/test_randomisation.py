"""Approximate randomisation, against every way to exchange the sentences."""

from itertools import product

import numpy as np
import pytest

from skipstack.search.statistics.randomisation import over_sentences
from tests.search.statistics.simulated import accuracy, f1


@pytest.mark.parametrize("name", ["accuracy", "F1"])
def test_with_few_sentences_it_tries_every_exchange(name: str) -> None:
    of_counts = accuracy if name == "accuracy" else f1
    generator = np.random.default_rng(1)
    correct_2RS = generator.integers(0, 6, (2, 2, 7)) + np.array([1, 0])[:, None, None]
    whole = [np.full_like(correct_2RS, 9)] if of_counts is accuracy else [correct_2RS + 3, correct_2RS + 2]
    counts_2RSC = np.stack([*whole, correct_2RS], axis=-1)

    def difference(swaps: tuple[int, ...]) -> float:
        both = counts_2RSC.copy()
        for sentence, swap in enumerate(swaps):
            both[:, :, sentence] = both[::-1, :, sentence] if swap else both[:, :, sentence]
        one, other = of_counts(both.sum(axis=2)).mean(axis=1)
        return float(one - other)

    seen = difference((0,) * 7)
    every = np.array([difference(swaps) for swaps in product((0, 1), repeat=7)])
    by_hand = 2 * min((every >= seen - 1e-12).mean(), (every <= seen + 1e-12).mean())
    asked = over_sentences(counts_2RSC[0], counts_2RSC[1], of_counts, np.random.default_rng(0))
    assert asked == pytest.approx(min(by_hand, 1.0))


def test_with_many_it_draws_some_the_same_for_the_same_generator() -> None:
    generator = np.random.default_rng(0)
    right_2RS = generator.random((2, 1, 200)) < np.array([0.9, 0.75])[:, None, None]
    counts_2RSC = np.stack([np.ones(right_2RS.shape), right_2RS], axis=-1)
    asked = [
        over_sentences(counts_2RSC[0], counts_2RSC[1], accuracy, np.random.default_rng(3), resamples=999)
        for _ in range(2)
    ]
    assert asked[0] == asked[1]
    assert asked[0] < 0.01
    same = over_sentences(counts_2RSC[0], counts_2RSC[0], accuracy, np.random.default_rng(3), resamples=999)
    assert same == 1.0
