"""Reads files in a user's format. Checks the sentences, and reports errors in one line with file and line number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

from pydantic import model_serializer

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.data.basis.user_code.files import line_before
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import FileCorpus, TaskOfLayer, Unit
from skipstack.data.formats.own import CorpusFiles, FormatFacts, OwnFormat
from skipstack.data.formats.running_text import check_words
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.data.labels.schemes import PREFIXES, Scheme, by_name, repaired


@dataclass(frozen=True, slots=True)
class WatchedFile(SourceFile):
    """A file that records which line its reader has reached, for error messages."""

    reached: list[int] = field(default_factory=list, compare=False)
    """The number of the current line, in a list. Empty before the first line is read, and after the last."""

    def lines(self, encoding: str) -> Iterator[tuple[int, str]]:
        """Yield the lines like any file, and record the number of each."""
        for number, line in SourceFile.lines(self, encoding):
            self.reached[:] = [number]
            yield number, line
        self.reached.clear()

    def blocks(self, encoding: str, *, comments: tuple[str, ...], blanks: str) -> Iterator[list[tuple[int, str]]]:
        """Yield the blocks like any file, and record the first line of each."""
        for block in SourceFile.blocks(self, encoding, comments=comments, blanks=blanks):
            self.reached[:] = [block[0][0]]
            yield block
        self.reached.clear()

    @property
    def place(self) -> str:
        """The path of the file, with the number of the current line if it is known."""
        return ":".join(map(str, (self.path, *self.reached)))


class OwnFormatCorpus(FileCorpus):
    """A corpus in files of a user's format. Its JSON value is the format's config, as in a study file.

    ``own``: the format's config and code file. Only ``read``, ``check`` and ``label_scheme`` run the code.
    """

    own: OwnConfig

    @classmethod
    def of(cls, own: OwnConfig) -> Self:
        """Create the corpus of a config. Raises ValueError for invalid recorded facts, and for an unknown layer."""
        said = own.fields
        corpus = cls(own=own, **{name: said.get(name) for name in CorpusFiles.model_fields})
        if corpus.layer not in corpus.facts.layers:
            raise ValueError(f"tags: {unknown(f'layer of {own.kind}', corpus.layer, corpus.facts.layers)}")
        return corpus

    @model_serializer
    def _as_it_was_said(self) -> Any:
        return self.own.value

    @property
    def facts(self) -> FormatFacts:
        """The recorded facts of the format. Raises ValidationError if they are invalid."""
        return FormatFacts.model_validate(self.own.recorded)

    @property
    def layer(self) -> str:
        """The layer to learn: the config's field ``tags`` or, if that is not set, the format's first layer."""
        return self.own.fields.get("tags") or self.facts.layers[0]

    def task(self, layer: str) -> TaskOfLayer:
        """The task that a layer is for."""
        return self.facts.tasks.get(layer, "tagging")

    @property
    def label_scheme(self) -> Scheme | None:
        """The label scheme, if any. Raises UserError if the scheme is invalid, or if code fails or is not loaded."""
        with self._errors_placed(self.own.kind):
            scheme = by_name(self._reader().scheme)
        if scheme is not None and scheme not in PREFIXES:
            raise UserError(f"{self._name}: {unknown('scheme', scheme, PREFIXES)}")
        return cast("Scheme | None", scheme)

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens."""
        return self.facts.unit

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError if the format's check refuses the splits, or if a word to predict is not in ``train``."""
        with self._errors_placed(self.own.kind):
            self._reader().check(splits)
        if self.task(self.layer) == "language_modelling":
            check_words(splits)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentences of a file with the tags of ``layer``. Illegal sequences of tags are repaired.

        Raises UserError for invalid sentences and for any error of the format's code. The message has the file and, if
        known, the current line.
        """
        scheme, task = self.label_scheme, self.task(layer)
        if task == "slots_and_intent" and scheme is None:
            raise UserError(
                f"{self._name}: got no scheme for slots and intents (allowed: that of the slots, such as bio)"
            )
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
                sentences.append(replace(sentence, tags=tags, written=sentence.tags))
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
        """Context that turns errors of the format's code into one-line UserErrors. ``where``: the file, or a prefix."""
        try:
            yield
        except UserError as error:
            raise UserError(" ".join(str(error).split("\n"))) from error
        except Exception as error:  # any error of a user's format is reported
            place = where if isinstance(where, str) else where.place
            raise UserError(f"{place}: {line_before(self.own, error)}{one_line(error)}") from error
