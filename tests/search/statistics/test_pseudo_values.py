"""The jackknife, against leaving out one sentence after another."""

import numpy as np
import pytest

from skipstack.search.statistics.pseudo_values import pseudo_values
from tests.search.statistics.simulated import accuracy, f1


@pytest.mark.parametrize("of_counts", [accuracy, f1])
def test_each_sentence_has_what_the_score_owes_it(of_counts: object) -> None:
    generator = np.random.default_rng(0)
    correct_RS = generator.integers(0, 5, (3, 8))
    counts_RSC = np.stack([correct_RS + 2, correct_RS + 1, correct_RS], axis=-1)
    found_RS = pseudo_values(counts_RSC, f1 if of_counts is f1 else accuracy)
    score = f1 if of_counts is f1 else accuracy
    for seed, sentence in np.ndindex(3, 8):
        others = np.delete(counts_RSC[seed], sentence, axis=0)
        owed = 8 * score(counts_RSC[seed].sum(axis=0)) - 7 * score(others.sum(axis=0))
        assert found_RS[seed, sentence] == pytest.approx(owed, abs=1e-12)


def test_of_sentences_of_one_length_it_is_each_ones_own_accuracy() -> None:
    correct_RS = np.random.default_rng(1).integers(0, 11, (2, 30))
    counts_RSC = np.stack([np.full_like(correct_RS, 10), correct_RS], axis=-1)
    assert pseudo_values(counts_RSC, accuracy) == pytest.approx(correct_RS / 10)
