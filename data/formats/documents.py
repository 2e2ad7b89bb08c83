"""Finds the documents of a file by their first lines, and counts the sentences of each."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence


class Documents:
    """The documents of a file. Each begins at a line that starts with ``mark``. If ``mark`` is None, two or more empty
    lines separate documents. ``blanks``: the characters that an empty line may contain.
    """

    def __init__(self, file: SourceFile, encoding: str, mark: str | None, blanks: str = "") -> None:
        self._path = file.path
        lines = file.lines(encoding)
        if mark is None:
            self._begins = list(_after_empty_lines(lines, blanks))
        else:
            self._begins = [number for number, line in lines if line.startswith(mark)]

    def at(self, number: int) -> str | None:
        """The first line, as ``file:line``, of the document with line ``number``; None if no documents are marked."""
        before = bisect_right(self._begins, number)
        return f"{self._path}:{self._begins[before - 1] if before else 1}" if self._begins else None


def document_sizes(sentences: Sequence[Sentence]) -> tuple[int, ...]:
    """The number of sentences of each document of a split, in order.

    Empty if the files do not mark documents, if the split is a single document, or if every document has one sentence.
    """
    if any(each.document is None for each in sentences):
        return ()
    sizes = tuple(len(list(those)) for _, those in groupby(sentences, lambda each: each.document))
    return sizes if 1 < len(sizes) < len(sentences) else ()


def _after_empty_lines(lines: Iterator[tuple[int, str]], blanks: str) -> Iterator[int]:
    """Yield the number of each line after two or more empty lines. Empty lines at the start of the file are ignored."""
    empty, begun = 0, False
    for number, line in lines:
        if not line.strip(blanks):
            empty += 1
            continue
        if begun and empty > 1:
            yield number
        empty, begun = 0, True
