"""The base of users' own formats, in a file of code beside the study, and the facts known of one without running it.

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
    """The base of the configs of formats: the kind, and the files of each split."""

    kind: str
    train: Paths
    dev: Paths
    test: Paths


class FormatFacts(Frozen):
    """The facts about a user's format that are recorded with its kind, for use without its code.

    ``tasks``: the tasks of its layers of tags, except for layers of tagging.
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
    """A small text in a format, and its sentences, which ``skipstack check`` compares.

    ``layer``: the layer of their tags; None: the default. A str is encoded as UTF-8; bytes are used unchanged.
    """

    text: str | bytes
    sentences: Sequence[Sentence]
    layer: str | None = None


class OwnFormat(ABC):
    """A reader of files in a user's format, created from its ``Config``, a subclass of ``CorpusFiles``.

    ``layers``: the layers of tags that can be learned, the default first; the Config's field ``tags``, if it has one,
    chooses another. ``tasks``: the task of a layer, unless it is tagging: for ``classification`` a sentence has one
    tag, for ``parsing`` it has ``heads``, for ``language_modelling`` the tags are the next words, the last one
    ``<eos>``. ``unit``: the unit of tagging. These three are class attributes, independent of the Config. ``example``:
    one or more texts with which ``skipstack check`` tests the reader.
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
        """The sentences of a file with the tags of ``layer``, as a list or an iterator.

        ``file.lines`` and ``file.blocks`` yield numbered lines; ``file.error`` creates an error about a line, to be
        raised.
        """

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:  # noqa: B027 (nothing to refuse by default)
        """Raise UserError for splits that do not fit together; most formats accept all."""

    @classmethod
    def recorded(cls) -> dict[str, Any]:
        """The facts of the class, as recorded. Raises ValueError for invalid ones."""
        said = {"unit": cls.unit, "layers": cls.layers, "tasks": cls.tasks}
        try:
            return FormatFacts.model_validate(said).model_dump(mode="json")
        except ValidationError as error:
            raise ValueError(explain(error, FormatFacts)) from None
