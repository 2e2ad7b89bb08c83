"""The base of formats: the config of a corpus in files, which also reads them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from skipstack.data.basis.frozen import Brief
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Unit = Literal["word", "character", "text"]
"""The unit of tokens: a word between blanks; the characters of a word, if words are to be found as well; or the words
and marks of running text."""

TaskOfLayer = Literal["tagging", "classification", "parsing", "language_modelling"]
"""The names of all tasks (``data/tasks/tasks.py``), one of which a layer is for."""

Paths = str | Annotated[tuple[str, ...], Field(min_length=1)]
"""A file, or several in order; ``*``, ``?`` and ``**`` match names, in text order."""

Share = Annotated[float, Field(gt=0, lt=1)]
"""A share of train."""


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise ValueError(f"unknown encoding {name!r} (allowed: a text encoding that Python knows)") from error
    return name


Encoding = Annotated[str, AfterValidator(_text_encoding)]
"""The text encoding of the files, such as ``utf-8``, ``gbk`` or ``latin-1``."""

HELD_OUT: Final = ("held_out", "held_out_test", "held_out_seed")
"""The fields that say how splits without files are drawn."""


class FileCorpus(Brief, ABC):
    """A corpus in files, with paths relative to the folder of the study file that names them.

    Each format is a subclass: its fields are the options of the format, and ``read`` reads a file. ``layers``: the
    layers of tags that can be learned, the default first. ``tasks``: the task of a layer, unless it is tagging.
    """

    layers: ClassVar[tuple[str, ...]] = ("tag",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {}

    kind: str
    train: Paths
    dev: Paths | None = None
    """The files of dev; null: ``held_out`` says how dev is drawn."""
    test: Paths | None = None
    """The files of test; null: ``held_out_test`` says how test is drawn."""
    held_out: Share | None = None
    """The share of train that is drawn as dev if ``dev`` is null, by whole documents where the files tell them apart,
    or else by sentences."""
    held_out_test: Share | None = None
    """The share of train that is drawn as test if ``test`` is null."""
    held_out_seed: Annotated[int, Field(ge=0)] = 0
    """The seed that draws these documents or sentences."""

    def _left_out(self) -> set[str]:
        """Leaves out the fields of held-out splits, too, if nothing is held out: so corpora that were recorded before
        there were these fields keep their identities.
        """
        return super()._left_out() | (set() if self.shares else {*HELD_OUT})

    @model_validator(mode="after")
    def _has_each_split_once(self) -> Self:
        for split, files, field in (("dev", self.dev, "held_out"), ("test", self.test, "held_out_test")):
            share = getattr(self, field)
            if files is None and share is None:
                raise ValueError(f"{split}: got nothing (allowed: files, or {field}, the share of train to draw)")
            if files is not None and share is not None:
                raise ValueError(f"{field}: got {share} for a corpus with files of {split} (allowed: one of the two)")
        return self

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of each split that has files."""
        paths = {"train": self.train, "dev": self.dev, "test": self.test}
        return {split: (those,) if isinstance(those, str) else those for split, those in paths.items() if those}

    @property
    def shares(self) -> Mapping[str, float]:
        """The share of train of each split that is drawn from it."""
        said = {"dev": self.held_out, "test": self.held_out_test}
        return {split: share for split, share in said.items() if share is not None}

    @property
    def layer(self) -> str:
        """The layer to learn."""
        return self.layers[0]

    def task(self, layer: str) -> TaskOfLayer:
        """The task of ``layer``."""
        return self.tasks.get(layer, "tagging")

    @property
    def label_scheme(self) -> Scheme | None:
        """The label scheme of the tags; None for tags of single tokens."""
        return None

    @property
    def token_unit(self) -> Unit:
        """The unit of tagging."""
        return "word"

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file with the tags of ``layer``. Raises UserError with file and line."""

    def beside(self, path: Path) -> Path | None:
        """The file of the tags of the words in ``path``, where tags are in a file of their own. Raises UserError."""
        return None

    def digest(self, file: SourceFile) -> str:
        """The identity of all that ``read`` reads of a file: its bytes; not its name, unless that tells something."""
        return file.sha256

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError for splits of files that do not fit together; most formats accept all."""
