"""The format of a user's file that is checked, with its examples. No torch here."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.own_code import OwnConfig
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.own import Example, OwnFormat
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.models.conformance.failure import Failure


@dataclass(frozen=True)
class FormatSpecimen:
    """A format to check, with the defaults of its config."""

    piece: OwnConfig

    @cached_property
    def corpus(self) -> OwnFormatCorpus:
        """A corpus in the format, by which its sentences are checked."""
        return OwnFormatCorpus.of(self.piece)

    @cached_property
    def made(self) -> OwnFormat:
        """A reader."""
        return self.another()

    def another(self) -> OwnFormat:
        """A fresh reader."""
        made = self.piece.build()
        assert isinstance(made, OwnFormat), "a format is known by its base"
        return made

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The examples of the class. Raises Failure for other values."""
        given = self.made.example
        found = given if isinstance(given, tuple) else (given,)
        for each in found:
            if not isinstance(each, Example):
                raise Failure(f"its example is {type(each).__name__} (allowed: Example(text, sentences), or several)")
            if each.layer is not None and each.layer not in self.made.layers:
                raise Failure(f"its example: {unknown('layer', each.layer, self.made.layers)}")
        return found

    def layer(self, example: Example) -> str:
        """The layer of an example's tags."""
        return example.layer or self.made.layers[0]

    def read(self, example: Example, made: OwnFormat | None = None) -> list[Sentence]:
        """The sentences that a reader returns for an example, unchecked."""
        found = (made or self.made).read(as_file(content_of(example)), self.layer(example))
        if not isinstance(found, Iterable):
            raise Failure(f"it read {found!r} (allowed: sentences)")
        return list(found)


def content_of(example: Example) -> bytes:
    """The bytes of an example."""
    return example.text.encode() if isinstance(example.text, str) else example.text


def as_file(content: bytes) -> SourceFile:
    """Bytes as a file, which errors call ``example``."""
    return SourceFile(Path("example"), content)
