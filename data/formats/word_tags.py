"""Tagged words, one sentence a line: ``word_TAG`` or ``word/TAG``, as in treebanks of French and Chinese.

In the People's Daily, the first token of each line is an ID, and names of several words have brackets around them,
``[中央/n 台/n]nt``. Both can be skipped.
"""

import re
from typing import Literal

from skipstack.data.formats.characters import in_characters, split_words
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Encoding, FileCorpus, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme

Mark = Literal["_", "/"]

_CLOSED = re.compile(r"(?<=.)](?:[^/\]]*)$")
"""Matches the end of a token after its tag: a closing bracket, and the type of the name that the bracket closes."""


class WordTagCorpus(FileCorpus):
    """Files of ``word_TAG`` or ``word/TAG`` tokens, one sentence a line (``data/formats/word_tags.py``).

    ``unit``: the unit of tokens. ``word`` suits the French Treebank, for example. ``character`` segments the text as
    well, as for the Chinese Treebanks. Tags are then BMES with the word's tag, such as ``B-NR``.
    """

    layers = ("pos",)

    kind: Literal["word_tag"] = "word_tag"
    separator: Mark = "_"
    """The separator of a word and its tag. The last separator in a token counts."""
    unit: Literal["word", "character"] = "word"
    """The unit of tagging."""
    encoding: Encoding = "utf-8"
    identified: bool = False
    """Whether each line begins with an ID, as in the People's Daily."""
    brackets: bool = False
    """Whether ``[`` before a word and ``]`` after a tag are brackets around names. Such brackets are skipped."""

    @property
    def label_scheme(self) -> Scheme | None:
        """BMES if tokens are characters. None if they are words, since tags of words have no scheme."""
        return "bmes" if self.unit == "character" else None

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens, as set in ``unit``."""
        return self.unit

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words of each line, or the characters of these words, with their tags.

        A bracket that is itself a word stays a word. Empty lines are skipped. Raises UserError, with file and line, for
        a token that is not a word and a tag, for a line with only an ID, and for bytes that are not text in the
        encoding. Also raises it for brackets that are not balanced on their line or are within a word.
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
            sentences.append(Sentence(words, tags) if self.unit == "word" else in_characters(words, tags))
        return sentences


def _parted(file: SourceFile, number: int, token: str, separator: Mark) -> tuple[str, str]:
    word, _, tag = token.rpartition(separator)
    if not word or not tag:
        other = "/" if separator == "_" else "_"
        hint = f"; with separator: {other}, word{other}TAG" if all(token.rpartition(other)[::2]) else ""
        raise file.error(number, f"got {token!r}, allowed: word{separator}TAG{hint}")
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
