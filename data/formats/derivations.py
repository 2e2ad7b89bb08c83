"""CCGbank's derivations, ``.auto`` files (Hockenmaier and Steedman, 2007).

A derivation is two lines: ``ID=wsj_0001.1 ...``, and a tree in brackets. An inner node is
``(<T CATEGORY HEAD CHILDREN> child child )``, a leaf ``(<L CATEGORY POS POS WORD PREDARG>)``.
"""

import re
from typing import Literal

from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import LayeredCorpus
from skipstack.data.formats.sentences import Sentence

_NODE = re.compile(r"\(<L (\S+) \S+ (\S+) (\S+) \S+>\)|\(<T \S+ [01] ([12])>|(\))")
_SHAPES = "(<L CATEGORY POS POS WORD PREDARG>), (<T CATEGORY HEAD CHILDREN> with one or two children, or )"


class DerivationCorpus(LayeredCorpus):
    """CCGbank's ``.auto`` derivations (``data/formats/derivations.py``)."""

    layers = ("category", "pos")

    kind: Literal["ccgbank_auto"] = "ccgbank_auto"
    tags: Literal["category", "pos"] | None = None
    """The layer to learn: lexical categories, or the Penn Treebank's parts of speech. None means categories."""

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words of each derivation with their lexical categories or parts of speech.

        A file is one document. A leaf has two parts of speech. The layer ``pos`` has the second, which is the Penn
        Treebank's own. The first was changed by the translation to CCG. Raises UserError, with file and line, for a
        derivation that is missing or has no ID, a node of another form, unbalanced brackets, and bytes that are not
        UTF-8.
        """
        sentences = []
        identified: int | None = None
        for number, line in file.lines("utf-8"):
            if not line.strip(" "):
                continue
            if line.startswith("ID=") != (identified is None):
                allowed = "a line ID=..." if identified is None else "a derivation after its ID"
                raise file.error(number, f"got {line[:40]!r}, allowed here: {allowed}")
            if identified is None:
                identified = number
            else:
                sentences.append(_leaves(file, number, line, layer))
                identified = None
        if identified is not None:
            raise file.error(identified, "got an ID at the end of the file, allowed: a derivation after it")
        return sentences


def _leaves(file: SourceFile, number: int, line: str, layer: str) -> Sentence:
    words, tags = [], []
    missing = [1]  # how many children each open node still lacks; the first node is the line, whose child is the tree
    place = 0
    text = line.rstrip(" ")
    while place < len(text):
        if text[place] == " ":
            place += 1
            continue
        node = _NODE.match(text, place)
        if node is None:
            raise file.error(number, f"got {text[place : place + 40]!r}, allowed: {_SHAPES}")
        category, pos, word, children, closes = node.groups()
        if closes:
            if len(missing) == 1 or missing.pop() != 0:
                raise file.error(number, f"got a ) too early, at column {place + 1}, allowed: all children before it")
        else:
            missing[-1] -= 1
            if missing[-1] < 0:
                raise file.error(number, f"got one node too many, at column {place + 1}, allowed: as many as announced")
            if children:
                missing.append(int(children))
            else:
                words.append(word)
                tags.append(category if layer == "category" else pos)
        place = node.end()
    if missing != [0]:
        raise file.error(number, "got a derivation that is cut off, allowed: as many ) as nodes")
    return Sentence(tuple(words), tuple(tags), document=str(file.path))
