"""What every format of files is: the tags that its files have, and how they are read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal

from skipstack.data.basis.frozen import Frozen
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Unit = Literal["word", "character", "text"]
"""What is between blanks: a word; a word whose characters are tokens, where words are found as well; or running text,
whose words and marks are tokens."""


class Format(Frozen, ABC):
    """A format with its options: a value, of which corpora have one each. One file holds one format."""

    @property
    @abstractmethod
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that may be learnt, the default first."""

    @abstractmethod
    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file with the tags of ``layer``. Raises UserError with file and line."""

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme of the tags; None where they are of single tokens."""
        return None

    @property
    def unit(self) -> Unit:
        """What is tagged."""
        return "word"

    def task(self, layer: str) -> str:
        """The name of the task that ``layer`` asks for (``data.tasks.tasks.TASKS``)."""
        return "tagging"

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError for splits, as far as they are files, that do not go together; most formats' do."""
