"""The base of formats: the tags that files have, and how they are read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from skipstack.data.basis.frozen import Frozen
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Unit = Literal["word", "character", "text"]
"""The unit of tokens: a word between blanks; the characters of a word, if words are to be found as well; or the words
and marks of running text."""


class Format(Frozen, ABC):
    """A format with its options, as a value in the config of a corpus. One module holds one format."""

    @property
    @abstractmethod
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that can be learned, the default first."""

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file with the tags of ``layer``. Raises UserError with file and line."""

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme of the tags; None for tags of single tokens."""
        return None

    @property
    def unit(self) -> Unit:
        """The unit of tagging."""
        return "word"

    def task(self, layer: str) -> str:
        """The name of the task of ``layer`` (``data.tasks.tasks.TASKS``)."""
        return "tagging"

    def beside(self, path: Path) -> Path | None:
        """The file of the tags of the words in ``path``, where tags are in a file of their own. Raises UserError."""
        return None

    def digest(self, file: SourceFile) -> str:
        """The identity of all that ``read`` reads of a file: its bytes; not its name, unless that tells something."""
        return file.sha256

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError for splits of files that do not fit together; most formats accept all."""
