"""The base of users' own formats, and the facts about such a format that are known without running its code.

A format is a class in a file of own code beside the study::

    class TwoLines(OwnFormat):
        class Config(CorpusFiles):
            kind: Literal["two_lines"] = "two_lines"

        def read(self, file: SourceFile, layer: str) -> Iterator[Sentence]:
            for number, line in file.lines("utf-8"):
                ...
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.user_code.configs import Part
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Paths, TaskOfLayer, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme


class CorpusFiles(Frozen):
    """The base of the configs of users' formats: the kind, and the files of each split."""

    kind: str
    train: Paths
    dev: Paths
    test: Paths


class FormatFacts(Frozen):
    """The recorded facts about a user's format. They are known without running the format's code.

    ``unit``: the unit of tokens. ``layers``: the layers of tags, the default first. ``tasks``: the task of each layer
    that is not for tagging.
    """

    unit: Unit
    layers: Annotated[tuple[str, ...], Field(min_length=1)]
    tasks: dict[str, TaskOfLayer]

    @model_validator(mode="after")
    def _tasks_are_of_layers(self) -> Self:
        for layer in self.tasks:
            if layer not in self.layers:
                raise ValueError(f"tasks: {unknown('layer', layer, self.layers)}")
        return self


@dataclass(frozen=True, slots=True)
class Example:
    """A small text in a user's format, with its sentences. ``skipstack check`` tests the format with it.

    ``text``: a str, which is encoded as UTF-8, or bytes, which are used unchanged. ``sentences``: the sentences that
    must be read. ``layer``: the layer of their tags; None means the default.
    """

    text: str | bytes
    sentences: Sequence[Sentence]
    layer: str | None = None


class OwnFormat(ABC):
    """The base of users' formats. A format has a class ``Config``, a subclass of ``CorpusFiles``. An instance is
    created from a config, and reads files.

    These class attributes are the same for all configs. ``layers``: the layers of tags that can be learned, the default
    first. A field ``tags`` of the Config chooses another layer. ``tasks``: the task of each layer that is not for
    tagging. For ``classification``, a sentence has one tag. For ``parsing``, it has ``heads``. For
    ``slots_and_intent``, it has an ``intent``, and its tags have a ``scheme``. For ``language_modelling``, its tags are
    the next words, and the last tag is ``<eos>``. ``unit``: the unit of tokens.
    ``example``: one or more texts with which ``skipstack check`` tests the format.
    """

    part: ClassVar[Part] = "format"
    layers: ClassVar[tuple[str, ...]] = ("tag",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {}
    unit: ClassVar[Unit] = "word"
    example: ClassVar[Example | tuple[Example, ...]] = ()

    def __init__(self, config: Any) -> None:
        self.config = config

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme of the tags; None for tags of single tokens."""
        return None

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        """Read the sentences of a file with the tags of ``layer``. Returns a list or an iterator.

        ``file.lines`` and ``file.blocks`` yield numbered lines. ``file.error`` creates an error about a line, to be
        raised.
        """

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:  # noqa: B027 (nothing to refuse by default)
        """Raise UserError if the splits do not fit together. Most formats accept any splits."""

    @classmethod
    def recorded(cls) -> dict[str, Any]:
        """The facts to record about the format. Raises ValueError if they are invalid."""
        said = {"unit": cls.unit, "layers": cls.layers, "tasks": cls.tasks}
        try:
            return FormatFacts.model_validate(said).model_dump(mode="json")
        except ValidationError as error:
            raise ValueError(explain(error, FormatFacts)) from None
