"""Column files: one token a line, an empty line after each sentence."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import UNSAID
from skipstack.data.formats.documents import Documents
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Encoding, FileCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.span_tags import SpanTags
from skipstack.data.labels.schemes import Scheme

Separator = Literal["tab", "whitespace"]

WORDS = "seq.in"
"""The usual name of a file of words with one sentence a line. The tags are in another file
(``data/formats/parallel.py``)."""

DOCUMENT = "-DOCSTART-"
"""The text at the start of each line that marks a new document, as in CoNLL-2003."""

_BLANKS: dict[Separator, str] = {"tab": " ", "whitespace": " \t"}
"""The characters that an empty line may contain, by separator. Other Unicode spaces, such as U+00A0, may be words."""


class ColumnCorpus(FileCorpus):
    """Column files: one token a line, an empty line after each sentence. Columns count from 0."""

    kind: Literal["columns"] = "columns"
    word: Annotated[int, Field(ge=0)] = 0
    """The column of the words."""
    tag: Annotated[int, Field(ge=0)] = 1
    """The column of the tags to learn."""
    separator: Separator = "tab"
    """The separator of columns: one tab, or any run of tabs and spaces."""
    comment: str | tuple[str, ...] | None = None
    """Lines that start with this text are skipped. Several texts can be given."""
    encoding: Encoding = "utf-8"
    scheme: Scheme | None = None
    """The label scheme of the tags (``data/labels/schemes.py``). With a scheme, tags are scored as spans by F1. With
    None, they are scored one by one, by accuracy."""
    documents: Annotated[Literal["docstart", "empty_lines"], UNSAID] = "docstart"
    """The marks between documents: lines that start with ``-DOCSTART-``, or two or more empty lines. If the files have
    such marks, confidence intervals hold for new documents, not only for new sentences."""

    @model_validator(mode="after")
    def _has_two_columns(self) -> Self:
        if self.word == self.tag:
            raise ValueError(f"tag: got column {self.tag}, which has the words (allowed: another column)")
        return self

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the sentences of a file. Illegal sequences of tags are repaired (``data.labels.schemes.repaired``), and
        blanks around words and tags are removed.

        Raises UserError, with file and line, if a line has another number of columns than the first line, or too few
        for word and tag. Also raises it for an empty word or tag, a tag that is not in the scheme, and text in another
        encoding.
        """
        sentences = []
        columns: int | None = None
        comments = (self.comment,) if isinstance(self.comment, str) else self.comment or ()
        blanks, span_tags = _BLANKS[self.separator], SpanTags(file, self.scheme)
        documents = Documents(file, self.encoding, DOCUMENT if self.documents == "docstart" else None, blanks)
        for block in file.blocks(self.encoding, comments=comments, blanks=blanks):
            rows, stripped = [], 0
            for number, line in block:
                fields = columns_of(line, self.separator)
                if columns is None:
                    self._check_reach(file, number, line)
                    columns = len(fields)
                if len(fields) != columns:
                    got = _columns(file, line, self.separator)
                    raise file.error(number, f"got {got}, allowed: {columns} on every line")
                word, tag = fields[self.word].strip(" "), fields[self.tag].strip(" ")
                if not word or not tag:
                    name, column = ("tag", self.tag) if word else ("word", self.word)
                    raise file.error(number, f"got an empty {name}, allowed: text in column {column}, counted from 0")
                stripped += word != fields[self.word] or tag != fields[self.tag]
                rows.append((number, word, tag))
            numbers, words, tags = zip(*rows, strict=True)
            begin = documents.at(numbers[0])
            sentences.append(
                Sentence(words, span_tags.of(tags, numbers), document=begin, stripped=stripped, written=tags)
            )
        return sentences

    def _check_reach(self, file: SourceFile, number: int, line: str) -> None:
        for name, column in (("word", self.word), ("tag", self.tag)):
            if column >= len(columns_of(line, self.separator)):
                needed = f"at least {column + 1}, because the {name} is in column {column}, counted from 0"
                raise file.error(number, f"got {_columns(file, line, self.separator)}, allowed: {needed}")


def columns_of(line: str, separator: Separator) -> list[str]:
    """Split a line into its columns."""
    match separator:
        case "tab":
            return line.split("\t")
        case "whitespace":
            return re.split(r"[ \t]+", line.strip(" \t"))


def _columns(file: SourceFile, line: str, separator: Separator) -> str:
    """The number of columns in words, with a hint: ``1 column (separator: tab; 4 with separator: whitespace)``.

    A wrong number usually comes from a wrong separator, or from a file of words that has its tags in a second file.
    """
    count = len(columns_of(line, separator))
    other: Separator = "whitespace" if separator == "tab" else "tab"
    there = len(columns_of(line, other))
    hints = [f"{there} with separator: {other}"] if there not in (1, count) else []
    hints += ["words and tags in two files side by side are read with kind: parallel"] * (file.path.name == WORDS)
    return f"{counted(count, 'column')} ({'; '.join([f'separator: {separator}', *hints])})"
