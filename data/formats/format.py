"""The base of file formats. A format is the config of a corpus in files. It also reads the files."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from skipstack.data.basis.frozen import Brief, identity
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Unit = Literal["word", "character", "text"]
"""The unit of tokens. ``word``: words between blanks. ``character``: single characters, for texts that are to be
segmented into words. ``text``: the words and punctuation marks of running text."""

TaskOfLayer = Literal["tagging", "classification", "parsing", "language_modelling", "slots_and_intent"]
"""The name of the task that a layer of tags is for (``data/tasks/tasks.py``)."""


def _a_path(given: str) -> str:
    if not given:
        raise ValueError("got '' (allowed: the path of a file)")
    return given


_Path = Annotated[str, AfterValidator(_a_path)]
Paths = _Path | Annotated[tuple[_Path, ...], Field(min_length=1)]
"""A file, or several in order. The wildcards ``*``, ``?`` and ``**`` stand for all matching files, sorted by path."""

Share = Annotated[float, Field(gt=0, lt=1)]
"""A share of the training split."""


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise ValueError(f"unknown encoding {name!r} (allowed: a text encoding that Python knows)") from error
    return name


Encoding = Annotated[str, AfterValidator(_text_encoding)]
"""The text encoding of the files, such as ``utf-8``, ``gbk`` or ``latin-1``."""

HELD_OUT: Final = ("held_out", "held_out_test", "held_out_seed")
"""The fields that say how a split without files is drawn from the training split."""


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
    """The files of dev. If null, dev is drawn from the training split (``held_out``)."""
    test: Paths | None = None
    """The files of test. If null, test is drawn from the training split (``held_out_test``)."""
    held_out: Share | None = None
    """The share of the training split drawn as dev if ``dev`` is null. Whole documents are drawn if they are marked."""
    held_out_test: Share | None = None
    """The share of the training split drawn as test if ``test`` is null."""
    held_out_seed: Annotated[int, Field(ge=0)] = 0
    """The random seed for drawing ``held_out`` and ``held_out_test``."""

    def _left_out(self) -> set[str]:
        """The fields to omit from the JSON text. If nothing is held out, ``HELD_OUT`` is among them."""
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

    @model_validator(mode="after")
    def _slots_have_a_scheme(self) -> Self:
        """The scheme of a user's format is known only when a file is read (``data/formats/own_reader.py``)."""
        if getattr(self, "scheme", "") is None and self.task(self.layer) == "slots_and_intent":
            raise ValueError("scheme: got null for slots and intents (allowed: that of the slots, such as bio)")
        return self

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of each split that has files."""
        paths = {"train": self.train, "dev": self.dev, "test": self.test}
        return {split: (those,) if isinstance(those, str) else those for split, those in paths.items() if those}

    @property
    def shares(self) -> Mapping[str, float]:
        """The share of the training split that is drawn for each split without files."""
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
        """The label scheme of the tags: the field ``scheme``, if the format has it. None for tags of single tokens."""
        scheme: Scheme | None = getattr(self, "scheme", None)
        return scheme

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens."""
        return "word"

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentences of a file, with tags of ``layer``. Raises UserError with file and line for wrong text."""

    def beside(self, path: Path) -> tuple[Path, ...]:
        """The files of tags or spans for a file of text; none if one file has all. Raises UserError for an unsuitable
        path.
        """
        return ()

    def with_beside(self, file: SourceFile) -> SourceFile:
        """Read the files beside a file, too. Raises UserError if one cannot be read."""
        return replace(file, beside=tuple(map(SourceFile.read, self.beside(file.path))))

    def digest(self, file: SourceFile) -> str:
        """A digest of everything that ``read`` uses: a file's bytes and, in some formats, its path or further files."""
        return identity([file.sha256, *(other.sha256 for other in file.beside)]) if file.beside else file.sha256

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError if the splits do not fit together. Most formats accept any splits."""


class LayeredCorpus(FileCorpus):
    """A corpus in files with several layers of tags. Its field ``tags`` chooses the layer to learn. None: the first."""

    tags: str | None = None

    @property
    def layer(self) -> str:
        """The layer to learn."""
        return self.tags or super().layer
