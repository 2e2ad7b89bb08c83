"""Lines of ``word|pos|category`` tokens, one sentence a line: the format of the C&C tools (Clark and Curran, 2007)."""

from typing import Literal

from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import LayeredCorpus
from skipstack.data.formats.sentences import Sentence


class PipedCorpus(LayeredCorpus):
    """Files of ``word|pos|category`` tokens, one sentence a line, as the C&C tools read them."""

    layers = ("category", "pos")

    kind: Literal["word_pos_supertag"] = "word_pos_supertag"
    tags: Literal["category", "pos"] | None = None
    """The layer to learn: lexical categories, or parts of speech. None means categories."""

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentences of a file with one layer of their tags.

        A word can contain ``|``, but a tag cannot. Empty lines and lines that start with ``# `` are skipped. Raises
        UserError, with file and line, for a token without three parts and for bytes that are not UTF-8.
        """
        sentences = []
        for number, line in file.lines("utf-8"):
            tokens = between_blanks(line)
            if line.startswith("# ") or not tokens:
                continue
            words, tags = [], []
            for token in tokens:
                parts = token.rsplit("|", 2)
                if len(parts) != 3 or not all(parts):
                    raise file.error(number, f"got {token!r}, allowed: word|pos|category")
                words.append(parts[0])
                tags.append(parts[2] if layer == "category" else parts[1])
            sentences.append(Sentence(tuple(words), tuple(tags)))
        return sentences
