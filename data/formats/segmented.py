"""Segmented text, in which blanks separate words. It is learned as tagged characters."""

from typing import Literal

from skipstack.data.formats.characters import in_characters, split_words
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Encoding, FileCorpus, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme


class SegmentedCorpus(FileCorpus):
    """Files of words separated by blanks, one sentence a line, as in SIGHAN's bakeoffs. Tokens are the characters, with
    BMES tags.
    """

    layers = ("segmentation",)

    kind: Literal["segmented"] = "segmented"
    encoding: Encoding = "utf-8"

    @property
    def label_scheme(self) -> Scheme:
        """BMES, in which each word is a span of characters."""
        return "bmes"

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens: characters."""
        return "character"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the characters of each line that is not empty. Raises UserError with file and line for invalid bytes."""
        lines = [split_words(line) for _, line in file.lines(self.encoding)]
        return [in_characters(words, [""] * len(words)) for words in lines if words]
