"""CoNLL-2012's columns, a common format of OntoNotes 5 (Pradhan et al., 2012). Names are in brackets: ``(GPE*``,
``*``, ``*)``.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from skipstack.data.basis.counted import counted
from skipstack.data.formats.documents import Documents
from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import LayeredCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme, Span, tags_of

DOCUMENT: Final = "#begin document"
"""The text at the start of each line that begins a document."""

_WORD, _POS, _NAME, _FEWEST = 3, 4, 10, 12
"""The columns of words, parts of speech and names, and the fewest columns of a line. Each verb of a sentence adds a
column."""

_BRACKETS: Final = re.compile(r"(?:\(([^()*]+))?(?:\*|(?=\)))(\))?")
"""Matches a word's entry in the column of names: the type of a name that begins there, and the end of a name."""


class Conll2012Corpus(LayeredCorpus):
    """CoNLL-2012's columns, a common format of OntoNotes 5 (``data/formats/conll2012.py``)."""

    layers = ("names", "pos")

    kind: Literal["conll2012"] = "conll2012"
    tags: Literal["names", "pos"] | None = None
    """The layer to learn: names, as spans in BIO, or parts of speech. None means names."""

    @property
    def label_scheme(self) -> Scheme | None:
        """BIO for names, none for parts of speech."""
        return "bio" if self.layer == "names" else None

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words of a file with one layer of their tags. Names become BIO.

        Raises UserError, with file and line, for fewer than twelve columns, another number of columns than in the
        sentence's first line, names whose brackets do not match, and bytes that are not UTF-8.
        """
        sentences = []
        documents = Documents(file, "utf-8", DOCUMENT)
        for block in file.blocks("utf-8", comments=("#",), blanks=" \t"):
            lines, rows = [number for number, _ in block], [between_blanks(line) for _, line in block]
            for number, row in zip(lines, rows, strict=True):
                if len(row) < _FEWEST or len(row) != len(rows[0]):
                    allowed = f"at least {_FEWEST}, as many as line {lines[0]}"
                    raise file.error(number, f"got {counted(len(row), 'column')}, allowed: {allowed}")
            words = tuple(row[_WORD] for row in rows)
            tags = tuple(row[_POS] for row in rows)
            if layer == "names":
                tags = tags_of(_names(file, lines, [row[_NAME] for row in rows]), len(rows), "bio")
            sentences.append(Sentence(words, tags, document=documents.at(lines[0])))
        return sentences


def _names(file: SourceFile, lines: Sequence[int], cells: Sequence[str]) -> list[Span]:
    """Find the names in a sentence's column. Raises UserError for brackets that do not match."""
    spans, start, span_type = list[Span](), 0, ""
    for place, (number, cell) in enumerate(zip(lines, cells, strict=True)):
        found = _BRACKETS.fullmatch(cell)
        if found is None:
            raise file.error(number, f"got the name {cell!r}, allowed: *, (TYPE*, *) and (TYPE)")
        opened, closed = found.groups()
        if opened:
            if span_type:
                raise file.error(number, f"got {cell!r} within the name of line {lines[start]}, allowed: one after it")
            start, span_type = place, opened
        if closed:
            if not span_type:
                raise file.error(number, f"got {cell!r}, a ) without its (, allowed: both in a sentence")
            spans.append(Span(start, place + 1, span_type))
            span_type = ""
    if span_type:
        raise file.error(lines[start], f"got {cells[start]!r}, a ( without its ), allowed: both in a sentence")
    return spans
