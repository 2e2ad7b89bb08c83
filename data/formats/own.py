"""A format of one's own: what a file of code beside the study has, and what is known of it without running it.

::

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
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.own_code import Part
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Paths = str | Annotated[tuple[str, ...], Field(min_length=1)]
"""A file, or several in their order; ``*``, ``?`` and ``**`` name all that match, in text order."""

TaskOfLayer = Literal["tagging", "classification", "parsing", "language_modelling"]
"""What a layer may be for: the names of all tasks (``data/tasks/tasks.py``)."""


class CorpusFiles(Frozen):
    """The base of configs of files: their format, and those of each split."""

    kind: str
    train: Paths
    dev: Paths
    test: Paths


class FormatFacts(Frozen):
    """What is known of a format of one's own wherever its code is not loaded: it is recorded with the kind.

    ``tasks``: what its layers of tags are for, those aside that words are tagged with.
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
    """A small text in a format, and the sentences that it has, which ``skipstack check`` compares.

    ``layer``: the layer of their tags; None: the default. A text is read as UTF-8; bytes are as they stand.
    """

    text: str | bytes
    sentences: Sequence[Sentence]
    layer: str | None = None


class OwnFormat(ABC):
    """A reader of files in a format of one's own, made of its ``Config``, whose base is ``CorpusFiles``.

    ``layers``: the layers of tags that may be learnt, the default first; another one is chosen by ``tags``, where the
    Config has such a field. ``tasks``: what a layer is for, where that is not tagging: for ``classification`` a
    sentence has one tag, for ``parsing`` it has ``heads``, for ``language_modelling`` the tags are the next words, the
    last one ``<eos>``. ``unit``: what is tagged. These three are values of the class, whatever the Config says.
    ``example``: a text, or several, by which ``skipstack check`` tries the reader.
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
        """The label scheme of the tags; None where they are of single tokens."""
        return None

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> Iterable[Sentence]:
        """The sentences of a file with the tags of ``layer``, as a list or one after another.

        ``file.lines`` and ``file.blocks`` give numbered lines; ``file.error`` makes the error to raise about one.
        """

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:  # noqa: B027 (nothing to refuse by default)
        """Raise UserError for splits that do not go together; most formats' do."""

    @classmethod
    def recorded(cls) -> dict[str, Any]:
        """The facts of the class, as a record has them. Raises ValueError for what is no such fact."""
        said = {"unit": cls.unit, "layers": cls.layers, "tasks": cls.tasks}
        try:
            return FormatFacts.model_validate(said).model_dump(mode="json")
        except ValidationError as error:
            raise ValueError(explain(error, FormatFacts)) from None
