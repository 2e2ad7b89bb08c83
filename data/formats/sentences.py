"""A sentence with its tags, and the splits that a corpus consists of."""

from dataclasses import dataclass, field

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of the text, and one tag per word, or a single one for classification.

    For parsing, the tags are relations, and ``heads`` are the words that they relate to: 0 is the root, w the w-th word
    (``data/labels/trees.py``). ``document`` is the place where its document begins, where the files tell documents
    apart; it is no part of the sentence, and settles only what is held out together.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    document: str | None = field(default=None, compare=False)
