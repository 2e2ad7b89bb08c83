"""Records of one sentence each: a list of words and a list of tags, in JSON lines, Arrow or Parquet.

Hugging Face's ``datasets`` writes such files: ``to_json``, ``to_parquet`` and ``save_to_disk``.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import ne
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from skipstack.data.basis.frozen import UNSAID
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import FileCorpus, TaskOfLayer
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

    layers = ("tag", "both")
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"both": "slots_and_intent"}

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
    intent: Annotated[Key | None, UNSAID] = None
    """The key, or the column, of the intent of a sentence, to learn slots and intents together. With null, only the
    tags are learned."""

    @model_validator(mode="after")
    def _has_columns_of_their_own(self) -> Self:
        for field, key, others in (("tag", self.tag, [self.word]), ("intent", self.intent, [self.word, self.tag])):
            if key in others:
                what = "words" if key == self.word else "tags"
                raise ValueError(f"{field}: got {key!r}, which has the {what} (allowed: another key)")
        return self

    @property
    def layer(self) -> str:
        """The layer to learn: tags, or tags and intents together."""
        return "tag" if self.intent is None else "both"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentence of each record, in the layer ``both`` with its intent. A record whose two lists are both
        empty is skipped. Illegal sequences of tags are repaired (``data.labels.schemes.repaired``), and blanks around
        words, tags and intents are removed.

        Raises UserError, with file and line, or row, if a record lacks the list of words or of tags, or the intent, or
        if its lists differ in length. Also raises it for an empty word, tag or intent, for the number of a tag or
        intent that has no name, for a tag that is not in the scheme, and if the file cannot be read.
        """
        names, records = self._records(file)
        span_tags, sentences = SpanTags(file, self.scheme), []
        for number, record in records:
            words = value_of(file, number, record, self.word)
            tags = value_of(file, number, record, self.tag)
            if words == tags == []:
                continue
            if isinstance(tags, list):
                tags = [_named(file, number, "a tag", tag, names.get(self.tag, ())) for tag in tags]
            intent = None
            if self.intent is not None:
                intent = value_of(file, number, record, self.intent)
                intent = _named(file, number, "an intent", intent, names.get(self.intent, ()))
            try:
                found = sound(Sentence(words, tags, intent=intent), self.task(layer), None)
            except UnsoundError as error:
                raise file.error(number, str(error)) from error
            words, written = (tuple(text.strip(" ") for text in texts) for texts in (found.words, found.tags))
            stripped = sum(map(ne, zip(found.words, found.tags, strict=True), zip(words, written, strict=True)))
            tagged, intent = span_tags.of(written, repeat(number)), found.intent and found.intent.strip(" ")
            sentences.append(Sentence(words, tagged, intent=intent, stripped=stripped, written=written))
        return sentences

    def _records(self, file: SourceFile) -> tuple[Mapping[str, Sequence[str]], Iterable[tuple[int, Record]]]:
        """The names of tags and intents that are numbers, by key, and the records of a file, each with the number of
        its line or row.
        """
        own = {} if self.names is None else {self.tag: self.names}
        if not file.content.startswith(TABLES):
            return own, objects(file)
        from skipstack.data.formats.tables import rows  # slow to import

        classes, records = rows(file, [key for key in (self.word, self.tag, self.intent) if key is not None])
        return {**classes, **own}, records


def _named(file: SourceFile, number: int, what: Literal["a tag", "an intent"], value: Any, names: Sequence[str]) -> Any:
    """Replace the number of a tag or of an intent by its name. Anything else stays as it is."""
    if type(value) is not int:
        return value
    if not 0 <= value < len(names):
        allowed = "text, or names: a list of all tags" if what == "a tag" else "text"
        allowed = f"0 to {len(names) - 1}, the numbers of names" if names else allowed
        raise file.error(number, f"got the number {value} as {what}, allowed: {allowed}")
    return names[value]
