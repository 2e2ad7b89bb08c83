"""brat's stand-off: a text in one file, and the spans in another file beside it (Stenetorp et al., 2012).

https://brat.nlplab.org/standoff.html describes the format.
"""

import re
from pathlib import Path
from typing import Final, Literal

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.character_spans import CharacterSpan, CharacterSpanCorpus, SpanReader
from skipstack.data.formats.files import BYTE_ORDER_MARK, SourceFile, between_blanks
from skipstack.data.formats.plain_lines import places_in
from skipstack.data.formats.sentences import Sentence

TEXT, SPANS = ".txt", ".ann"
"""The endings of a file of text, and of the file of its spans."""

_SPAN: Final = re.compile(r"T[^\t]*\t([^\t ]+) ([0-9]{1,9} [0-9]{1,9}(?:;[0-9]{1,9} [0-9]{1,9})*)(?:\t(.*))?")
"""Matches the line of a span: its ID, its type, the characters of each piece, and its text."""


class BratCorpus(CharacterSpanCorpus):
    """brat's stand-off: texts in ``.txt`` files, their spans in ``.ann`` files beside them (``data/formats/brat.py``).

    ``train``, ``dev`` and ``test`` name the ``.txt`` files. Each is a document.
    """

    kind: Literal["brat"] = "brat"

    def beside(self, path: Path) -> tuple[Path, ...]:
        """The file of spans for a file of text. Raises UserError if the path does not end in ``.txt``."""
        if path.suffix != TEXT:
            raise UserError(f"{path}: got a name of another end (allowed: {TEXT}; the spans are in {SPANS} beside it)")
        return (path.with_suffix(SPANS),)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the lines of a text, with the spans in BIO. Relations, events, attributes and notes are skipped.

        Characters are counted as brat does: line ends and a byte order mark count. Raises UserError, with file and
        line, for an invalid line of a span, a span whose text differs from the text at its characters, spans that tags
        of tokens cannot express (unless ``misfits`` is ``fit``), and bytes that are not UTF-8.
        """
        (spans_file,) = file.beside
        text = file.text("utf-8")
        if text.startswith(BYTE_ORDER_MARK):
            text = text.replace(BYTE_ORDER_MARK, " ", 1)
        reader = SpanReader(spans_file, self)
        spans = [
            _span(spans_file, number, line, text) for number, line in spans_file.lines("utf-8") if line.startswith("T")
        ]
        reader.add(text, places_in(text, self.unit), spans, str(file.path))
        return reader.sentences()


def _span(file: SourceFile, number: int, line: str, text: str) -> CharacterSpan:
    found = _SPAN.fullmatch(line)
    if found is None:
        raise file.error(number, f"got {line[:40]!r}, allowed: T1, a tab, type start end, a tab, the text")
    span_type, places, written = found.groups()
    pieces = [(int(start), int(stop)) for start, stop in (place.split(" ") for place in places.split(";"))]
    there = " ".join(text[start:stop] for start, stop in pieces)
    if written is not None and between_blanks(there) != between_blanks(written):
        first, last = pieces[0][0], pieces[-1][1]
        raise file.error(
            number, f"got the text {written[:40]!r} of {first} to {last}, allowed: {there[:40]!r}, as there"
        )
    start, stop = min(start for start, _ in pieces), max(stop for _, stop in pieces)
    whole = between_blanks(text[start:stop]) == between_blanks(there)
    return CharacterSpan(start, stop, span_type, number, whole=whole)
