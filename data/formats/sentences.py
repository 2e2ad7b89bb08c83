"""A sentence with its tags, and the splits that a corpus consists of."""

from dataclasses import dataclass

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words as they stand in the text, and one tag a word, or a single one where texts are classified.

    In a corpus for parsing the tags are relations, and ``heads`` are what they relate words to: 0 is the root, w the
    w-th word (``data/labels/trees.py``).
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...] | None = None
