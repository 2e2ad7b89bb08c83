"""RARE: what stays, what is learnt, and that no token is right for being rare. Against plain counts."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.labels.schemes import RARE
from skipstack.data.store.prepared import prepare
from skipstack.data.store.rare import with_rare_tags
from skipstack.data.store.stored import Split, StoredCorpus
from skipstack.data.tasks.accuracy import correct_tags

NAMES = "ABCDEF"
rows = st.lists(st.sampled_from(NAMES), min_size=1, max_size=20)


def corpus(tags: dict[str, list[str]]) -> StoredCorpus:
    """A corpus of one sentence a split, all of one word; a tag that train lacks is -1, as the store has it."""
    known = tuple(sorted(set(tags["train"])))
    splits = {}
    for name in SPLITS:
        ids = [known.index(tag) if tag in known else -1 for tag in tags[name]]
        length = len(ids)
        ids_L, offsets = np.array(ids, np.int32), np.array([0, length])
        splits[name] = Split(np.ones(length, np.int32), ids_L, np.array([length], np.int32), offsets, offsets)
    return StoredCorpus("f" * 16, ("", "w"), np.array([0, len(tags["train"])]), known, splits)


def read_back(stored: StoredCorpus, split: str) -> list[str | None]:
    return [stored.tags[tag] if tag >= 0 else None for tag in stored.splits[split].tags_L]


@given(train=rows, dev=rows, test=rows, minimum=st.integers(1, 5))
def test_tags_below_the_cut_off_are_rare_in_train_and_nothing_in_dev_and_test(
    train: list[str], dev: list[str], test: list[str], minimum: int
) -> None:
    counts = Counter(train)
    stay = sorted(tag for tag, count in counts.items() if count >= minimum)
    stored = corpus({"train": train, "dev": dev, "test": test})
    if not stay:
        with pytest.raises(UserError, match=f"got {minimum} .allowed: 1 to {max(counts.values())}, or no tag stays"):
            with_rare_tags(stored, minimum)
        return
    settled = with_rare_tags(stored, minimum)
    assert settled.tags == (*stay, RARE)
    assert read_back(settled, "train") == [tag if tag in stay else RARE for tag in train]
    assert read_back(settled, "dev") == [tag if tag in stay else None for tag in dev]
    assert read_back(settled, "test") == [tag if tag in stay else None for tag in test]
    assert all(settled.splits[split].tags_L.dtype == np.int32 for split in SPLITS)
    assert settled.fingerprint == stored.fingerprint


@given(train=rows, dev=rows, minimum=st.integers(1, 3), data=st.data())
def test_accuracy_is_that_on_the_original_tags(
    train: list[str], dev: list[str], minimum: int, data: st.DataObject
) -> None:
    stored = corpus({"train": [*train, *"AAA"], "dev": dev, "test": dev})
    settled = with_rare_tags(stored, minimum)
    predicted = data.draw(st.lists(st.sampled_from(settled.tags), min_size=len(dev), max_size=len(dev)))
    right = sum(guess == tag for guess, tag in zip(predicted, dev, strict=True))
    ids = np.array([settled.tags.index(tag) for tag in predicted])[None, :, None]
    gold = settled.splits["dev"].tags_L.astype(np.int64)[None, :, None]
    assert correct_tags(ids, gold, np.array([[len(dev)]])).tolist() == [right]


def test_one_keeps_every_tag_and_adds_an_output_without_examples() -> None:
    stored = corpus({"train": list("AABC"), "dev": list("AD"), "test": list("B")})
    settled = with_rare_tags(stored, 1)
    assert settled.tags == ("A", "B", "C", RARE)
    assert all(np.array_equal(settled.splits[split].tags_L, stored.splits[split].tags_L) for split in SPLITS)


def test_a_corpus_with_a_tag_of_that_name_is_refused() -> None:
    stored = replace(corpus({"train": list("AB"), "dev": list("A"), "test": list("A")}), tags=("A", RARE))
    with pytest.raises(UserError, match="the corpus has a tag RARE"):
        with_rare_tags(stored, 1)


def test_without_a_cut_off_the_corpus_is_as_it_was_stored() -> None:
    stored = corpus({"train": list("AAB"), "dev": list("AB"), "test": list("B")})
    assert prepare(stored, DataConfig(), 3).stored is stored
    assert prepare(stored, DataConfig(minimum_tag_count=2), 3).stored.tags == ("A", RARE)
