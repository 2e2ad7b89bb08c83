"""The base of file formats. A format is the config of a corpus in files, and also reads these files."""

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
"""The unit of tokens. ``word``: words between blanks. ``character``: the characters of words, if words are to be found
as well. ``text``: the words and marks of running text."""

TaskOfLayer = Literal["tagging", "classification", "parsing", "language_modelling"]
"""The task that a layer of tags is for, by the name of the task (``data/tasks/tasks.py``)."""

Paths = str | Annotated[tuple[str, ...], Field(min_length=1)]
"""A file, or several in order. The wildcards ``*``, ``?`` and ``**`` stand for all matching files, in text order."""

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
"""The fields that say how a split without files is drawn from train."""


class FileCorpus(Brief, ABC):
    """A corpus in files. Paths are relative to the folder of the study file that names them.

    Each format is a subclass: its fields are the options of the format, and ``read`` reads a file. ``layers``: the
    layers of tags that can be learned, the default first. ``tasks``: the task of each layer that is not for tagging.
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
        """The names of the fields to leave out of the JSON text: also those in ``HELD_OUT`` if nothing is held out.

        So corpora that were recorded before these fields existed keep their identities.
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
        """The share of train that is drawn for each split without files."""
        said = {"dev": self.held_out, "test": self.held_out_test}
        return {split: share for split, share in said.items() if share is not None}

    @property
    def layer(self) -> str:
        """The layer to learn."""
        return self.layers[0]

    def task(self, layer: str) -> TaskOfLayer:
        """The task that a layer is for."""
        return self.tasks.get(layer, "tagging")

    @property
    def label_scheme(self) -> Scheme | None:
        """The label scheme of the tags; None for tags of single tokens."""
        return None

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens."""
        return "word"

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentences of a file with the tags of ``layer``.

        Raises UserError with file and line for text that is not in this format.
        """

    def beside(self, path: Path) -> Path | None:
        """The file with the tags for the words in the file ``path``; None if this format has tags and words in one
        file.

        Raises UserError for a path that does not fit the format.
        """
        return None

    def digest(self, file: SourceFile) -> str:
        """A digest of everything that ``read`` uses of a file: its bytes and, in formats that read these as well, a
        label in its path or the bytes of the file beside it.
        """
        return file.sha256

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError if the splits do not fit together. Most formats accept all."""


class LayeredCorpus(FileCorpus):
    """A corpus in files whose option ``tags`` chooses the layer to learn; None means the first layer."""

    tags: str | None = None

    @property
    def layer(self) -> str:
        """The layer to learn."""
        return self.tags or super().layer
