"""The Penn Treebank's tagged files, ``.pos``: ``word/TAG`` tokens among the brackets of chunks.

The files do not mark the ends of sentences clearly. Empty lines follow full stops, but also separate chunks and precede
closing quotation marks. Lines of ``=`` separate paragraphs. So the ends of sentences are derived from all of these.
"""

import re
from collections.abc import Iterator
from typing import Literal

from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.sentences import Sentence

_SLASH = re.compile(r"(?<!\\)/")
"""Matches the separator of word and tag. A slash within a word follows a backslash, which stays in the word."""
_PARAGRAPH = re.compile(r"=+ *")
_STOP = "."
_CLOSING = ("''", ")")
"""The tags of tokens that may follow a full stop in the same sentence."""

Token = tuple[str, str]


class TreebankCorpus(FileCorpus):
    """The Penn Treebank's tagged ``.pos`` files (``data/formats/treebank.py``)."""

    layers = ("pos",)

    kind: Literal["treebank_pos"] = "treebank_pos"
    tags: Literal["pos"] | None = None
    """The layer to learn: parts of speech, the only one."""

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentences of a file, which is one document, with their parts of speech.

        A sentence ends at a line of ``=`` and at the end of the file. It also ends at an empty line after a full stop
        (the tag ``.``, which ? and ! have as well). Closing quotation marks and brackets may follow the full stop, even
        after the empty line. So a heading without a full stop is joined to the following text of its paragraph. Of
        alternative tags, such as ``NN|JJ``, the first is taken. Lines of the copyright notice (``*x*``) are skipped.
        Raises UserError, with file and line, for a token that is not ``word/TAG`` and for bytes that are not UTF-8.
        """
        sentences: list[Sentence] = []
        sentence: list[Token] = []

        def end() -> None:
            if sentence:
                words, tags = zip(*sentence, strict=True)
                sentences.append(Sentence(words, tags, document=str(file.path)))
                sentence.clear()

        empty = False
        for number, line in file.lines("utf-8"):
            if _PARAGRAPH.fullmatch(line):
                end()
            elif not line.strip(" \t"):
                empty = True
            elif not line.startswith("*x*"):
                tokens = list(_tokens(file, number, line))
                if empty and _stopped(sentence) and tokens and tokens[0][1] not in _CLOSING:
                    end()
                sentence += tokens
                empty = False
        end()
        return sentences


def _stopped(sentence: list[Token]) -> bool:
    return next((tag == _STOP for _, tag in reversed(sentence) if tag not in _CLOSING), False)


def _tokens(file: SourceFile, number: int, line: str) -> Iterator[Token]:
    for text in between_blanks(line):
        if text in ("[", "]"):
            continue
        parts = _SLASH.split(text)
        tag = parts[-1].partition("|")[0]
        if len(parts) != 2 or not parts[0] or not tag:
            raise file.error(number, f"got {text!r}, allowed: word/TAG, [ and ]")
        yield parts[0], tag
