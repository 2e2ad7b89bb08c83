"""Column files: one token a line, an empty line after each sentence."""

import re
from typing import Literal

from skipstack.data.basis.counted import counted
from skipstack.data.formats.documents import Documents
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import OUTSIDE, Scheme, parted, repaired

Separator = Literal["tab", "whitespace"]

WORDS = "seq.in"
"""The name of a file of whole sentences, one a line, where tags are in another file (``data/formats/parallel.py``)."""

DocumentsBy = Literal["docstart", "empty_lines"]

DOCUMENT = "-DOCSTART-"
"""The word of a line that begins a document, as CoNLL-2003 writes it."""

_BLANKS: dict[Separator, str] = {"tab": " ", "whitespace": " \t"}
"""Characters that an empty line may contain. Not all Unicode spaces: a word may contain U+00A0."""


class ColumnFormat(Format):
    """The columns, counted from 0, of the word and of each layer of tags, the default first.

    ``separator`` is one tab, or any run of tabs and spaces; lines that start with one of ``comments`` are skipped;
    ``columns`` is the number of columns of every line, None: as many as in the first; ``label_scheme`` is the label
    scheme of the tags, None for tags of single tokens. ``documents``: what
    tells them apart, a line ``-DOCSTART-`` that begins one, or two or more empty lines between them.
    """

    kind: Literal["columns"] = "columns"
    word: int
    tags: dict[str, int]
    columns: int | None = None
    comments: tuple[str, ...] = ()
    separator: Separator = "tab"
    encoding: str = "utf-8"
    label_scheme: Scheme | None = None
    documents: DocumentsBy = "docstart"

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers in ``tags``."""
        return tuple(self.tags)

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme, if the tags have one."""
        return self.label_scheme

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The sentences of a file.

        Illegal sequences of tags are repaired (``data.labels.schemes.repaired``). Raises UserError with file and line
        for a differing column count, too few columns for word and tag, an empty word or tag, a tag outside the scheme
        (``TagCheck``), and bytes that are not text in the encoding.
        """
        word, tag, separator, columns, scheme = self.word, self.tags[layer], self.separator, self.columns, self.scheme
        sentences = []
        check_tag = None if scheme is None else TagCheck(file, scheme)
        mark = DOCUMENT if self.documents == "docstart" else None
        documents = Documents(file, self.encoding, mark, _BLANKS[separator])
        for block in file.blocks(self.encoding, comments=self.comments, blanks=_BLANKS[separator]):
            rows = []
            for number, line in block:
                fields = _fields(line, separator)
                if columns is None:
                    _check_reach(file, number, line, word=word, tag=tag, separator=separator)
                    columns = len(fields)
                if len(fields) != columns:
                    raise file.error(number, f"got {_columns(file, line, separator)}, allowed: {columns} on every line")
                for name, column in (("word", word), ("tag", tag)):
                    if not fields[column].strip(" "):
                        raise file.error(
                            number, f"got an empty {name}, allowed: text in column {column}, counted from 0"
                        )
                if check_tag is not None:
                    check_tag(number, fields[tag])
                rows.append((fields[word], fields[tag]))
            words, tags = zip(*rows, strict=True)
            tags = tags if scheme is None else repaired(tags, scheme)
            sentences.append(Sentence(words, tags, document=documents.at(block[0][0])))
        return sentences


class TagCheck:
    """Checks that the tags of a file are in ``scheme``, and that either all spans have a type or none has."""

    def __init__(self, file: SourceFile, scheme: Scheme) -> None:
        self.file, self.scheme = file, scheme
        self.first: tuple[int, bool] | None = None
        """The line of the first tag in a span, and whether it has a type."""

    def __call__(self, number: int, tag: str) -> None:
        """Raise UserError with file and line for a tag that is not."""
        try:
            prefix, span_type = parted(tag, self.scheme)
        except ValueError as error:
            raise self.file.error(number, str(error)) from error
        if prefix == OUTSIDE:
            return
        first, typed = self.first = self.first or (number, bool(span_type))
        if typed != bool(span_type):
            given = "a type, as" if typed else "no type, as"
            raise self.file.error(number, f"got the tag {tag!r}, allowed: {given} on line {first}")


def _fields(line: str, separator: Separator) -> list[str]:
    match separator:
        case "tab":
            return line.split("\t")
        case "whitespace":
            return re.split(r"[ \t]+", line.strip(" \t"))


def _check_reach(file: SourceFile, number: int, line: str, *, word: int, tag: int, separator: Separator) -> None:
    for name, column in (("word", word), ("tag", tag)):
        if column >= len(_fields(line, separator)):
            needed = f"at least {column + 1}, because the {name} is in column {column}, counted from 0"
            raise file.error(number, f"got {_columns(file, line, separator)}, allowed: {needed}")


def _columns(file: SourceFile, line: str, separator: Separator) -> str:
    """``1 column (separator: tab; 4 with separator: whitespace)``: a wrong separator is the usual reason for a wrong
    count, and a file of whole sentences another.
    """
    count = len(_fields(line, separator))
    other: Separator = "whitespace" if separator == "tab" else "tab"
    there = len(_fields(line, other))
    hints = [f"{there} with separator: {other}"] if there not in (1, count) else []
    hints += ["words and tags in two files side by side are read with kind: parallel"] * (file.path.name == WORDS)
    return f"{counted(count, 'column')} ({'; '.join([f'separator: {separator}', *hints])})"
