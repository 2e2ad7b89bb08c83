"""A small prepared corpus for tests of training: random sentences whose tags follow from the words."""

import numpy as np

from skipstack.data.corpora.config import DataConfig
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import Split, StoredCorpus
from skipstack.models.configs.inputs import LONGEST_AFFIX

WORDS = ("", "Anna", "bell", "Carl9", "door", "ends", "falls", "gate", "HALL", "in", "jumps", "keys", "lamp")
TAGS = ("A", "B", "C")


def small_corpus(seed: int = 0, train: int = 60, dev: int = 20, shortest: int = 1) -> PreparedCorpus:
    """The tag of a word depends on itself and on the word before it; a sentence has at least ``shortest`` words."""
    rng = np.random.default_rng(seed)
    splits = {
        "train": _split(rng, train, shortest),
        "dev": _split(rng, dev, shortest),
        "test": _split(rng, dev, shortest),
    }
    counts_F = np.bincount(splits["train"].forms_N, minlength=len(WORDS)).astype(np.int64)
    stored = StoredCorpus("0" * 16, WORDS, counts_F, TAGS, splits)
    return prepare(stored, DataConfig(), LONGEST_AFFIX)


def _split(rng: np.random.Generator, sentences: int, shortest: int) -> Split:
    lengths_S = rng.integers(shortest, 8, size=sentences).astype(np.int32)
    offsets_S1 = np.concatenate([[0], np.cumsum(lengths_S)]).astype(np.int64)
    forms_N = rng.integers(1, len(WORDS), size=offsets_S1[-1]).astype(np.int32)
    before_N = np.concatenate([[0], forms_N[:-1]])
    before_N[offsets_S1[:-1]] = 0
    tags_N = ((forms_N + before_N) % len(TAGS)).astype(np.int32)
    return Split(forms_N, tags_N, lengths_S, offsets_S1, offsets_S1)
