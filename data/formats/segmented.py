"""Segmented text: words between blanks, as tagged characters."""

from typing import Literal

from skipstack.data.formats.characters import in_characters, split_words
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme


class SegmentedFormat(Format):
    """Words between blanks, one sentence a line."""

    kind: Literal["segmented"] = "segmented"
    encoding: str = "utf-8"

    @property
    def layers(self) -> tuple[str, ...]:
        """The only layer: the beginnings and ends of words."""
        return ("segmentation",)

    @property
    def scheme(self) -> Scheme:
        """BMES: words are spans of characters."""
        return "bmes"

    @property
    def unit(self) -> Unit:
        """Characters."""
        return "character"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The characters of each line's words, which are separated by blanks; empty lines are skipped.

        Raises UserError with file and line for bytes that are not text in the encoding.
        """
        lines = [split_words(line) for _, line in file.lines(self.encoding)]
        return [in_characters(words, [""] * len(words)) for words in lines if words]
