"""A tagged sentence, and the splits that a corpus consists of."""

from dataclasses import dataclass

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words as they stand in the text, and one tag a word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
