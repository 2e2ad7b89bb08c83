"""CoNLL-U, the format of Universal Dependencies (https://universaldependencies.org/format.html)."""

import re
from typing import Literal

from data.readers.files import SourceFile
from data.sentences import Sentence

Layer = Literal["xpos", "upos"]

_COLUMNS = 10
_FORM = 1
_TAG: dict[Layer, int] = {"upos": 3, "xpos": 4}
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
"""The id of a multiword range (``3-4``: its words follow) or of an empty node (``3.1``: not in the text)."""


def read_conllu(file: SourceFile, layer: Layer) -> list[Sentence]:
    """The syntactic words of a file with one layer of their tags.

    A word ``_`` is an underscore in the text; a tag ``_`` is a missing annotation. Raises
    UserError with file and line for a missing tag, an empty word, a wrong column count, an id
    that does not follow the one before it, and bytes that are not UTF-8.
    """
    sentences = []
    for block in file.blocks("utf-8", comments=("#",), blanks=" "):
        words: list[str] = []
        tags: list[str] = []
        for number, line in block:
            fields = line.split("\t")
            if len(fields) != _COLUMNS:
                raise file.error(number, f"got {len(fields)} columns, allowed: {_COLUMNS} separated by tabs")
            if _NO_WORD.fullmatch(fields[0]):
                continue
            if fields[0] != str(len(words) + 1):
                raise file.error(number, f"got the id {fields[0]!r}, allowed here: {len(words) + 1}")
            word, tag = fields[_FORM], fields[_TAG[layer]]
            if not word.strip(" "):
                raise file.error(number, "got an empty word, allowed: a word, or _ for an underscore")
            if tag.strip(" ") in ("", "_"):
                raise file.error(number, f"got {tag!r} as the {layer} tag of {word!r}, allowed: a tag on every word")
            words.append(word)
            tags.append(tag)
        if words:
            sentences.append(Sentence(tuple(words), tuple(tags)))
    return sentences
