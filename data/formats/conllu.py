"""CoNLL-U, the format of Universal Dependencies (https://universaldependencies.org/format.html)."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from skipstack.data.formats.documents import Documents
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import LayeredCorpus, TaskOfLayer
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.trees import ROOT, TREES, find_cycle

_DOCUMENT = "# newdoc"
_COLUMNS = 10
_FORM = 1
_HEAD = 6
_TAG = {"upos": 3, "xpos": 4, "heads": 7}
_NAME = {"upos": "the upos tag", "xpos": "the xpos tag", "heads": "the relation"}
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
"""Matches the ID of a multiword range (``3-4``) or of an empty node (``3.1``). The words of a range follow it. An empty
node is not in the text."""


class ConlluCorpus(LayeredCorpus):
    """CoNLL-U, the format of Universal Dependencies (``data/formats/conllu.py``)."""

    layers = ("upos", "xpos", TREES)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {TREES: "parsing"}

    kind: Literal["conllu"] = "conllu"
    tags: Literal["upos", "xpos", "heads"] | None = None
    """The layer to learn: universal parts of speech (``upos``), language-specific ones (``xpos``), or dependency trees
    (``heads``). None means ``upos``."""

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the syntactic words of a file with one layer of their tags.

        In the layer ``heads``, which is the basic tree, the tag of a word is the relation to its head, with subtype
        (``nsubj:pass``). Blanks around words and tags are removed. A word ``_`` is an underscore in the text. A tag
        ``_`` is a missing annotation. Raises UserError, with file and line, for a missing tag, an empty word, a wrong
        number of columns, an ID out of sequence, and bytes that are not UTF-8. In the layer ``heads``, also raises it
        for heads that are not a tree with one word under the root.
        """
        sentences = []
        documents = Documents(file, "utf-8", _DOCUMENT)
        for block in file.blocks("utf-8", comments=("#",), blanks=" "):
            rows: list[tuple[int, str, str, str]] = []
            stripped = 0
            for number, line in block:
                fields = line.split("\t")
                if len(fields) != _COLUMNS:
                    raise file.error(number, f"got {len(fields)} columns, allowed: {_COLUMNS} separated by tabs")
                if _NO_WORD.fullmatch(fields[0]):
                    continue
                if fields[0] != str(len(rows) + 1):
                    raise file.error(number, f"got the id {fields[0]!r}, allowed here: {len(rows) + 1}")
                word, tag = fields[_FORM].strip(" "), fields[_TAG[layer]].strip(" ")
                if not word:
                    raise file.error(number, "got an empty word, allowed: a word, or _ for an underscore")
                if tag in ("", "_"):
                    raise file.error(number, f"got {tag!r} as {_NAME[layer]} of {word!r}, allowed: one for every word")
                stripped += word != fields[_FORM] or tag != fields[_TAG[layer]]
                rows.append((number, word, tag, fields[_HEAD]))
            if rows:
                lines, words, tags, heads = zip(*rows, strict=True)
                tree = _tree(file, lines, heads) if layer == TREES else None
                begin = documents.at(block[0][0])
                sentences.append(Sentence(words, tags, tree, begin, stripped=stripped))
        return sentences


def _tree(file: SourceFile, lines: Sequence[int], written: Sequence[str]) -> tuple[int, ...]:
    """Parse the heads of a sentence. ``lines``: the line of each word. ``written``: the heads, as in the file.

    Raises UserError if the heads are no tree with exactly one word under the root.
    """
    known = {str(place): place for place in range(len(written) + 1)}
    for line, head in zip(lines, written, strict=True):
        if head not in known:
            raise file.error(line, f"got the head {head!r}, allowed here: 0 to {len(written)}")
    heads = tuple(known[head] for head in written)
    roots = [word for word, head in enumerate(heads, start=1) if head == ROOT]
    if not roots:
        raise file.error(lines[0], "got a sentence without a word of head 0, allowed: exactly one")
    if len(roots) > 1:
        first, second = roots[:2]
        raise file.error(lines[second - 1], f"got head 0, which word {first} has too, allowed: one in a sentence")
    if cycle := find_cycle(heads):
        way = ", ".join(map(str, [*cycle, cycle[0]]))
        raise file.error(lines[cycle[0] - 1], f"got heads in a circle ({way}), allowed: a tree under head 0")
    return heads
