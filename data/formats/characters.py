"""Converts tagged words to characters with BMES tags, and back, for joint segmentation and tagging."""

import re
from collections.abc import Sequence
from itertools import groupby

from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import OUTSIDE, RARE, Scheme, Span, spans_of, tags_of


def split_words(line: str) -> list[str]:
    """Split a text into words at blanks, tabs, ideographic spaces (U+3000) and line ends, and nowhere else."""
    return [part for part in re.split("[ \t\r\n\u3000]", line) if part]


def in_characters(words: Sequence[str], tags: Sequence[str]) -> Sentence:
    """Convert words to characters. A word becomes a BMES span of its tag: ``中国 NR`` is ``中 B-NR``, ``国 E-NR``."""
    spans: list[Span] = []
    for word, tag in zip(words, tags, strict=True):
        start = spans[-1].stop if spans else 0
        spans.append(Span(start, start + len(word), tag))
    characters = tuple("".join(words))
    return Sentence(characters, tags_of(spans, len(characters), "bmes"))


def in_words(characters: Sequence[str], tags: Sequence[str], scheme: Scheme) -> list[tuple[str, str]]:
    """Convert tagged characters to words, each with its tag. For legal tags this is the inverse of ``in_characters``.

    For illegal tags, the words are the spans that conlleval reads (``data.labels.schemes.spans_of``). A character
    outside of every span is a word with its own tag.
    """
    words: list[tuple[str, str]] = []
    for alone, run in groupby(zip(characters, tags, strict=True), key=lambda pair: pair[1] in (OUTSIDE, RARE)):
        pairs = list(run)
        if alone:
            words += pairs
            continue
        text = "".join(character for character, _ in pairs)
        words += [(text[span.start : span.stop], span.type) for span in spans_of([tag for _, tag in pairs], scheme)]
    return words
