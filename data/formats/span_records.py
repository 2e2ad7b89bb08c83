"""Records of one text each, with spans by characters, in JSON lines: as Prodigy and doccano export them."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import model_validator

from skipstack.data.basis.errors import unknown
from skipstack.data.formats.character_spans import CharacterSpan, CharacterSpanCorpus, SpanReader
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Unit
from skipstack.data.formats.json_lines import Record, objects, value_of
from skipstack.data.formats.plain_lines import places_in
from skipstack.data.formats.records import Key
from skipstack.data.formats.sentences import Sentence

ACCEPTED = "accept"
"""The value of ``answer`` in records that the user of Prodigy accepted."""

STARTS, STOPS = ("start", "start_offset"), ("end", "end_offset")
"""The keys of a span's first character (``STARTS``) and of the character after its last (``STOPS``): Prodigy's, then
doccano's."""


class SpanRecordCorpus(CharacterSpanCorpus):
    """JSON lines, each with a text and its spans by characters (``data/formats/span_records.py``).

    A span is a mapping with ``start``, ``end`` and ``label`` (Prodigy), a mapping with ``start_offset``, ``end_offset``
    and ``label``, or a list of start, end and label (doccano). A record that Prodigy's user rejected or ignored is
    skipped.
    """

    kind: Literal["spans"] = "spans"
    text: Key = "text"
    """The key of the text."""
    spans: Key = "spans"
    """The key of the spans: ``spans`` in Prodigy's records, ``label`` or ``entities`` in doccano's."""
    tokens: Key | None = None
    """The key of the tokens of a text, with ``start`` and ``end``, such as Prodigy's ``tokens``. If null, texts are
    split as ``unit`` says, by ``predict`` too. Otherwise ``predict`` needs texts with blanks between tokens."""

    @model_validator(mode="after")
    def _has_tokens_once(self) -> Self:
        if self.tokens is not None and self.unit != "text":
            raise ValueError(f"unit: got {self.unit!r} for records that have tokens (allowed: none, or tokens: null)")
        return self

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens: as set in ``unit``, or words between blanks if records have tokens."""
        return self.unit if self.tokens is None else "word"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the lines of each text, with the spans in BIO. A record without the key of the spans has no spans.

        Raises UserError, with file and line, for a record without a text, a wrong span or token, spans that tags of
        tokens cannot express (unless ``misfits`` is ``fit``), and text that is not JSON lines. Also raises it if no
        record has the key of the spans.
        """
        reader = SpanReader(file, self)
        lacking: tuple[int, Record] | None = None
        some = False
        for number, record in objects(file):
            if record.get("answer", ACCEPTED) != ACCEPTED:
                continue
            text = value_of(file, number, record, self.text)
            if not isinstance(text, str):
                raise file.error(number, f"got {self.text}: {text!r:.40}, allowed: text")
            some = some or self.spans in record
            lacking = lacking or (number, record)
            spans = [_span(file, number, each) for each in _list(file, number, self.spans, record.get(self.spans))]
            reader.add(text, self._tokens(file, number, record, text), spans, f"{file.path}:{number}")
        if lacking is not None and not some:
            number, record = lacking
            raise file.error(number, unknown("key", self.spans, record))
        return reader.sentences()

    def _tokens(self, file: SourceFile, number: int, record: Record, text: str) -> list[tuple[int, int]]:
        if self.tokens is None:
            return places_in(text, self.unit)
        places, before = [], 0
        for each in _list(file, number, self.tokens, value_of(file, number, record, self.tokens)):
            start, stop = _place(file, number, each)
            if not before <= start <= stop <= len(text):
                allowed = f"in order, from 0 to {len(text)}, the length of the text"
                raise file.error(number, f"got a token from character {start} to {stop}, allowed: {allowed}")
            if text[start:stop].strip():
                places.append((start, stop))
            before = stop
        return places


def _list(file: SourceFile, number: int, key: str, found: Any) -> list[Any]:
    """The list at a key of a record; an empty list if the value is null or missing."""
    if found and not isinstance(found, list):
        raise file.error(number, f"got {key}: {found!r:.40}, allowed: a list")
    return found or []


def _span(file: SourceFile, number: int, found: Any) -> CharacterSpan:
    if isinstance(found, list) and len(found) == 3:
        found = dict(zip((STARTS[0], STOPS[0], "label"), found, strict=True))
    start, stop = _place(file, number, found)
    label = found.get("label")
    if not isinstance(label, str):
        raise file.error(number, f"got the label {label!r:.40} of a span, allowed: text")
    return CharacterSpan(start, stop, label.strip(" "), number)


def _place(file: SourceFile, number: int, found: Any) -> tuple[int, int]:
    """The start and the end of a span or of a token."""
    if isinstance(found, Mapping):
        start, stop = (next((found[key] for key in keys if key in found), None) for keys in (STARTS, STOPS))
        if type(start) is int and type(stop) is int:
            return start, stop
    allowed = "a mapping with start, end and label, or a list of the three, with whole numbers"
    raise file.error(number, f"got {found!r:.60} as a span or token, allowed: {allowed}")
