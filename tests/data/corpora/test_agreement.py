"""The agreement corpus: its tags follow from the words, those of verbs from both ends, and from no sum of the two."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from skipstack.data.corpora.synthetic.agreement import EDITION, LONGEST, SHORTEST, AgreementCorpus, sentences
from skipstack.data.formats.sentences import Sentence
from skipstack.data.store.writing import fingerprint
from tests.oracles.agreement import read

SIZES = AgreementCorpus()
MANY = 4000


@pytest.fixture(scope="module")
def many() -> list[Sentence]:
    return sentences(11, "train", MANY)


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Sentence]]:
    sizes = {"train": SIZES.train, "dev": SIZES.dev, "test": SIZES.test}
    return {split: sentences(SIZES.seed, split, size) for split, size in sizes.items()}


def test_a_reader_that_sees_only_the_words_finds_every_tag(many: list[Sentence]) -> None:
    for sentence in many:
        assert read(sentence.words) == list(sentence.tags), " ".join(sentence.words)


def test_no_sum_of_what_either_end_says_is_right_about_all_verbs(many: list[Sentence]) -> None:
    """A sum of the left end's say and the right end's is right in three of the four cases at most."""
    verbs = Counter(
        (sentence.words[0], sentence.words[-2], tag)
        for sentence in many
        if "that" not in sentence.words
        for tag in sentence.tags
        if tag in ("PAST", "PRESENT")
    )
    cases = [(left, right, past) for left, right, past in verbs if verbs[left, right, past]]
    assert len(cases) == 4, "the two ends settle the tense"
    signs = np.array([1 if tag == "PAST" else -1 for _, _, tag in cases])
    says = np.array([[left == "suppose", right == "now", 1] for left, right, _ in cases], dtype=float)

    def some_sum_is_right(kept: np.ndarray) -> bool:
        found = linprog(
            np.zeros(3), A_ub=-(signs[:, None] * says)[kept], b_ub=-np.ones(kept.sum()), bounds=(None, None)
        )
        return bool(found.success)

    right = [sum(kept) for kept in product([True, False], repeat=4) if some_sum_is_right(np.array(kept))]
    assert max(right) == 3
    assert min(verbs.values()) > sum(verbs.values()) / 8, "whichever case is given up"


def test_sentences_are_short_and_dev_and_test_hold_no_tag_and_few_words_that_train_lacks(
    splits: dict[str, list[Sentence]],
) -> None:
    assert {len(sentence.words) for split in splits.values() for sentence in split} == {*range(SHORTEST, LONGEST + 1)}
    words = {word for sentence in splits["train"] for word in sentence.words}
    tags = {tag for sentence in splits["train"] for tag in sentence.tags}
    for split in ("dev", "test"):
        tokens = [token for each in splits[split] for token in zip(each.words, each.tags, strict=True)]
        unseen = [word for word, _ in tokens if word not in words]
        assert all(tag in tags for _, tag in tokens)
        assert 0 < len(unseen) < len(tokens) / 50
        assert all(word[0].isupper() for word in unseen)


def test_splits_and_seeds_are_streams_of_their_own_and_a_longer_split_begins_with_the_shorter_one() -> None:
    drawn = [sentences(seed, split, 50) for seed in (0, 1) for split in ("train", "dev", "test")]
    assert all(one != other for index, one in enumerate(drawn) for other in drawn[:index])
    assert sentences(5, "dev", 40)[:15] == sentences(5, "dev", 15)


def test_the_default_corpus_is_the_one_of_this_edition(splits: dict[str, list[Sentence]]) -> None:
    """If this fails the grammar has changed: raise EDITION and put the new fingerprint here."""
    assert (EDITION, fingerprint(splits)) == (1, "7b5596a63229ed93")
