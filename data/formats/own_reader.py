"""Files read by a format of one's own: what it gives is checked, and what goes wrong is one line with its place."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.own_code import OwnConfig
from skipstack.data.basis.own_lines import line_before
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Unit
from skipstack.data.formats.own import FormatFacts, OwnFormat
from skipstack.data.formats.running_text import check_words
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.soundness import UnsoundError, sound
from skipstack.data.labels.schemes import PREFIXES, Scheme, repaired


@dataclass(frozen=True, slots=True)
class WatchedFile(SourceFile):
    """A file that knows which line its reader is at, while that takes one after another."""

    reached: list[int] = field(default_factory=list, compare=False)
    """The line; nothing before the first one, and once all were given out."""

    def lines(self, encoding: str) -> Iterator[tuple[int, str]]:
        """As of any file."""
        for number, line in SourceFile.lines(self, encoding):
            self.reached[:] = [number]
            yield number, line
        self.reached.clear()

    def blocks(self, encoding: str, *, comments: tuple[str, ...], blanks: str) -> Iterator[list[tuple[int, str]]]:
        """As of any file; of a block it is the first line that is reached."""
        for block in SourceFile.blocks(self, encoding, comments=comments, blanks=blanks):
            self.reached[:] = [block[0][0]]
            yield block
        self.reached.clear()

    @property
    def place(self) -> str:
        """The file, with the line that was reached, if it is known."""
        return ":".join(map(str, (self.path, *self.reached)))


@dataclass(frozen=True, slots=True)
class OwnReader:
    """A format of one's own as corpora need one. Only what reads, or asks for the scheme, runs its code."""

    own: OwnConfig

    @property
    def facts(self) -> FormatFacts:
        """What is recorded of the format. Raises ValidationError where that is no such thing."""
        return FormatFacts.model_validate(self.own.recorded)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that may be learnt, the default first."""
        return self.facts.layers

    @property
    def layer(self) -> str:
        """The layer that is learnt: as the field ``tags`` says, where the config has one, or else the first."""
        return json.loads(self.own.text).get("tags") or self.layers[0]

    @property
    def unit(self) -> Unit:
        """What is tagged."""
        return self.facts.unit

    def task(self, layer: str) -> str:
        """The name of the task that ``layer`` asks for."""
        return self.facts.tasks.get(layer, "tagging")

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme of the tags. Raises UserError where the code is not loaded, and for one that is none."""
        with self._told(self.own.kind):
            scheme = self._made().scheme
        if scheme is not None and scheme not in PREFIXES:
            raise UserError(f"{self._name}: {unknown('scheme', scheme, PREFIXES)}")
        return scheme

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError for splits that do not go together."""
        with self._told(self.own.kind):
            self._made().check(splits)
        if self.task(self.layer) == "language_modelling":
            check_words(splits)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file with the tags of ``layer``, illegal sequences of which are repaired.

        Raises UserError with the file, and with the line that was reached, if that is known, for what is no sentence
        and for whatever the format raises.
        """
        scheme, task = self.scheme, self.task(layer)
        watched, sentences = WatchedFile(file.path, file.content), list[Sentence]()
        with self._told(watched):
            given = self._made().read(watched, layer)
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

    def _made(self) -> OwnFormat:
        made = self.own.build()
        assert isinstance(made, OwnFormat), "a format is known by its base"
        return made

    @contextmanager
    def _told(self, where: str | WatchedFile) -> Iterator[None]:
        """Within, whatever the format raises is one line of the user's."""
        try:
            yield
        except UserError as error:
            raise UserError(" ".join(str(error).split("\n"))) from error
        except Exception as error:  # whatever a format raises is what is wrong with it
            place = where if isinstance(where, str) else where.place
            raise UserError(f"{place}: {line_before(self.own, error)}{one_line(error)}") from error
