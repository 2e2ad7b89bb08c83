"""Reads files with a user's format: checks the sentences, and reports errors in one line with their place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.basis.user_code.files import line_before
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Unit
from skipstack.data.formats.own import FormatFacts, OwnFormat
from skipstack.data.formats.running_text import check_words
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.data.labels.schemes import PREFIXES, Scheme, by_name, repaired


@dataclass(frozen=True, slots=True)
class WatchedFile(SourceFile):
    """A file that records which line its reader has reached."""

    reached: list[int] = field(default_factory=list, compare=False)
    """The number of the current line; empty before the first one, and after the last."""

    def lines(self, encoding: str) -> Iterator[tuple[int, str]]:
        """Yields lines like any file."""
        for number, line in SourceFile.lines(self, encoding):
            self.reached[:] = [number]
            yield number, line
        self.reached.clear()

    def blocks(self, encoding: str, *, comments: tuple[str, ...], blanks: str) -> Iterator[list[tuple[int, str]]]:
        """Yields blocks like any file; the first line of a block counts as reached."""
        for block in SourceFile.blocks(self, encoding, comments=comments, blanks=blanks):
            self.reached[:] = [block[0][0]]
            yield block
        self.reached.clear()

    @property
    def place(self) -> str:
        """The file, with the current line, if known."""
        return ":".join(map(str, (self.path, *self.reached)))


@dataclass(frozen=True, slots=True)
class OwnReader:
    """A user's format, as corpora use it. Only ``read``, ``check`` and ``scheme`` run its code."""

    own: OwnConfig

    @property
    def facts(self) -> FormatFacts:
        """The recorded facts of the format. Raises ValidationError if they are invalid."""
        return FormatFacts.model_validate(self.own.recorded)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that can be learned, the default first."""
        return self.facts.layers

    @property
    def layer(self) -> str:
        """The layer to learn: the config's field ``tags``, if it has one, or else the first."""
        return self.own.fields.get("tags") or self.layers[0]

    @property
    def unit(self) -> Unit:
        """The unit of tagging."""
        return self.facts.unit

    def task(self, layer: str) -> str:
        """The name of the task of ``layer``."""
        return self.facts.tasks.get(layer, "tagging")

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme of the tags. Raises UserError if the code is not loaded, and for an invalid scheme."""
        with self._errors_placed(self.own.kind):
            scheme = by_name(self._reader().scheme)
        if scheme is not None and scheme not in PREFIXES:
            raise UserError(f"{self._name}: {unknown('scheme', scheme, PREFIXES)}")
        return cast("Scheme | None", scheme)

    def beside(self, path: Path) -> None:
        """None: a user's format reads each file alone."""

    def digest(self, file: SourceFile) -> str:
        """The digest of the file's bytes."""
        return file.sha256

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError for splits that do not fit together."""
        with self._errors_placed(self.own.kind):
            self._reader().check(splits)
        if self.task(self.layer) == "language_modelling":
            check_words(splits)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file with the tags of ``layer``; illegal sequences of tags are repaired.

        Raises UserError with the file, and with the current line, if known, for invalid sentences and for any error of
        the format's code.
        """
        scheme, task = self.scheme, self.task(layer)
        watched, sentences = WatchedFile(file.path, file.content), list[Sentence]()
        with self._errors_placed(watched):
            given = self._reader().read(watched, layer)
            if not isinstance(given, Iterable):
                raise UserError(f"{watched.place}: {self._name} read {given!r} (allowed: sentences)")
            for number, each in enumerate(given, start=1):
                try:
                    sentence = sound(each, task, scheme)
                except UnsoundError as error:
                    raise UserError(f"{watched.place}: sentence {number}, as {self._name} reads it: {error}") from None
                tags = sentence.tags if scheme is None else repaired(sentence.tags, scheme)
                sentences.append(replace(sentence, tags=tags))
        return sentences

    @property
    def _name(self) -> str:
        return f"{self.own.kind} of {self.own.code.name}"

    def _reader(self) -> OwnFormat:
        reader = self.own.build()
        assert isinstance(reader, OwnFormat), "a format is known by its base"
        return reader

    @contextmanager
    def _errors_placed(self, where: str | WatchedFile) -> Iterator[None]:
        """Turns any error of the format's code into a one-line UserError."""
        try:
            yield
        except UserError as error:
            raise UserError(" ".join(str(error).split("\n"))) from error
        except Exception as error:  # any error of a user's format is reported
            place = where if isinstance(where, str) else where.place
            raise UserError(f"{place}: {line_before(self.own, error)}{one_line(error)}") from error
