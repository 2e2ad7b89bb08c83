"""Sentences as ``word|pos|category`` tokens, one a line: the format of the C&C tools (Clark and Curran, 2007)."""

from typing import Literal

from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format
from skipstack.data.formats.sentences import Sentence


class PipedFormat(Format):
    """``word|pos|category`` tokens, one sentence a line."""

    kind: Literal["word_pos_supertag"] = "word_pos_supertag"

    @property
    def layers(self) -> tuple[str, ...]:
        """Lexical categories, and parts of speech."""
        return ("category", "pos")

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file with one layer of their tags.

        A word may contain ``|``, a tag may not. Empty lines and lines that start with ``# `` are skipped. Raises
        UserError with file and line for a token without three parts and for bytes that are not UTF-8.
        """
        sentences = []
        for number, line in file.lines("utf-8"):
            if line.startswith("# ") or not line.strip(" \t"):
                continue
            words, tags = [], []
            for token in line.replace("\t", " ").split(" "):
                if not token:
                    continue
                parts = token.rsplit("|", 2)
                if len(parts) != 3 or not all(parts):
                    raise file.error(number, f"got {token!r}, allowed: word|pos|category")
                words.append(parts[0])
                tags.append(parts[2] if layer == "category" else parts[1])
            sentences.append(Sentence(tuple(words), tuple(tags)))
        return sentences
