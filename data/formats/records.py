"""Records of one sentence each: a list of words and a list of tags, in JSON lines, Arrow or Parquet.

Hugging Face's ``datasets`` writes such files: ``to_json``, ``to_parquet`` and ``save_to_disk``.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import ne
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.json_lines import Record, objects, value_of
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.data.formats.span_tags import SpanTags
from skipstack.data.labels.schemes import Scheme

TABLES: Final = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")
"""The first bytes of files of Parquet, of Arrow, and of Arrow's streams. Other files are JSON lines."""

Key = Annotated[str, Field(min_length=1)]
"""The key of a value in a record, or the name of a column."""


class RecordCorpus(FileCorpus):
    """Records of one sentence each, with a list of words and a list of tags, in JSON lines, Arrow, Feather or Parquet.
    The first bytes of a file show which (``data/formats/records.py``).
    """

    kind: Literal["records"] = "records"
    word: Key = "tokens"
    """The key, or the column, of the words."""
    tag: Key = "ner_tags"
    """The key, or the column, of the tags to learn."""
    names: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The names of tags that are numbers, in order: the first is the name of 0. If null, they are read from the
    metadata that Hugging Face writes into Arrow and Parquet. Tags that are text need no names."""
    scheme: Scheme | None = None
    """The label scheme of the tags, to score them as spans by F1. With null, they are scored one by one."""

    @model_validator(mode="after")
    def _has_two_columns(self) -> Self:
        if self.word == self.tag:
            raise ValueError(f"tag: got {self.tag!r}, which has the words (allowed: another key)")
        return self

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentence of each record. A record whose two lists are both empty is skipped. Illegal sequences of
        tags are repaired (``data.labels.schemes.repaired``), and blanks around words and tags are removed.

        Raises UserError, with file and line, or row, if a record lacks the list of words or of tags, or if its lists
        differ in length. Also raises it for an empty word or tag, for the number of a tag that has no name, for a tag
        that is not in the scheme, and if the file cannot be read.
        """
        names, records = self._records(file)
        span_tags, sentences = SpanTags(file, self.scheme), []
        for number, record in records:
            words = value_of(file, number, record, self.word)
            tags = _named(file, number, value_of(file, number, record, self.tag), names)
            if words == tags == []:
                continue
            try:
                found = sound(Sentence(words, tags), "tagging", None)
            except UnsoundError as error:
                raise file.error(number, str(error)) from error
            words, written = (tuple(text.strip(" ") for text in texts) for texts in (found.words, found.tags))
            stripped = sum(map(ne, zip(found.words, found.tags, strict=True), zip(words, written, strict=True)))
            tagged = span_tags.of(written, repeat(number))
            sentences.append(Sentence(words, tagged, stripped=stripped, written=written))
        return sentences

    def _records(self, file: SourceFile) -> tuple[Sequence[str], Iterable[tuple[int, Record]]]:
        """The names of tags that are numbers, and the records of a file, each with the number of its line or row."""
        if not file.content.startswith(TABLES):
            return self.names or (), objects(file)
        from skipstack.data.formats.tables import rows  # slow to import

        classes, records = rows(file, (self.word, self.tag))
        return self.names or classes.get(self.tag) or (), records


def _named(file: SourceFile, number: int, tags: Any, names: Sequence[str]) -> Any:
    """Replace the numbers in a list of tags by their names. Anything else stays as it is."""
    if not isinstance(tags, list):
        return tags
    for tag in tags:
        if type(tag) is int and not 0 <= tag < len(names):
            allowed = f"0 to {len(names) - 1}, the numbers of names" if names else "text, or names: a list of all tags"
            raise file.error(number, f"got the number {tag} as a tag, allowed: {allowed}")
    return [names[tag] if type(tag) is int else tag for tag in tags]
