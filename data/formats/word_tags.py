"""Tagged words, one sentence a line: ``word_TAG`` or ``word/TAG``, as treebanks of French and Chinese have them.

The People's Daily adds an id, the first token of each line, and brackets around names of several words,
``[中央/n 台/n]nt``; both are passed over.
"""

import re
from typing import Literal

from skipstack.data.formats.characters import in_characters, split_words
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Mark = Literal["_", "/"]

_CLOSED = re.compile(r"(?<=.)](?:[^/\]]*)$")
"""A bracket that closes after a tag, and what kind of name it closed."""


class WordTagFormat(Format):
    """``word_TAG`` tokens, one sentence a line, parted at their last ``separator``.

    ``tagged``: what is tagged, words, or, to find words as well, their characters. ``identified``: whether a line
    begins with its id; ``brackets``: whether ``[`` before a word and ``]`` after a tag mean names.
    """

    kind: Literal["word_tag"] = "word_tag"
    separator: Mark
    tagged: Literal["word", "character"] = "word"
    encoding: str = "utf-8"
    identified: bool = False
    brackets: bool = False

    @property
    def layers(self) -> tuple[str, ...]:
        """Parts of speech."""
        return ("pos",)

    @property
    def scheme(self) -> Scheme | None:
        """That of the characters; words are tagged one by one."""
        return "bmes" if self.tagged == "character" else None

    @property
    def unit(self) -> Unit:
        """As ``tagged`` says."""
        return self.tagged

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The words of each line, or their characters, with their tags.

        A word that is a bracket is one in any case. Empty lines are passed over. Raises UserError with file and line
        for a token that is not a word and a tag, an id alone, brackets that are not balanced on their line or stand
        within a word, and bytes that are not text in the encoding.
        """
        sentences = []
        for number, line in file.lines(self.encoding):
            tokens = split_words(line)
            if not tokens:
                continue
            if self.identified:
                tokens = tokens[1:]
                if not tokens:
                    raise file.error(number, f"got {line.strip()!r} alone, allowed: words after the id of a line")
            if self.brackets:
                tokens = _without_brackets(file, number, tokens, self.separator)
            pairs = [_parted(file, number, token, self.separator) for token in tokens]
            words, tags = zip(*pairs, strict=True)
            sentences.append(Sentence(words, tags) if self.tagged == "word" else in_characters(words, tags))
        return sentences


def _parted(file: SourceFile, number: int, token: str, separator: Mark) -> tuple[str, str]:
    word, _, tag = token.rpartition(separator)
    if not word or not tag:
        raise file.error(number, f"got {token!r}, allowed: word{separator}TAG")
    return word, tag


def _without_brackets(file: SourceFile, number: int, tokens: list[str], separator: Mark) -> list[str]:
    bare, open_brackets = [], 0
    for token in tokens:
        opened = token.startswith("[") and not token.startswith(f"[{separator}")
        closed = _CLOSED.search(token)
        inner = token[opened : closed.start() if closed else None]
        word, _, tag = inner.rpartition(separator)
        if (len(word) > 1 and {*"[]"} & {*word}) or {*"[]"} & {*tag}:
            raise file.error(number, f"got {token!r}, a bracket within a word, allowed: brackets around whole words")
        open_brackets += opened - (closed is not None)
        if open_brackets < 0:
            raise file.error(number, f"got {token!r}, a ] without its [, allowed: both on the same line")
        bare.append(inner)
    if open_brackets:
        raise file.error(number, "got a [ without its ], allowed: both on the same line")
    return bare
