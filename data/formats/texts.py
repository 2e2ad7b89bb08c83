"""Labelled texts, one a line, in columns separated by tabs, such as reviews with their sentiment."""

import re
from typing import Literal

from skipstack.data.basis.counted import counted
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format, Unit
from skipstack.data.formats.sentences import Sentence

_TOKEN = re.compile(r"<br */?>|[^\W_]+(?:'[^\W_]+)*|[^\w\s]|_")
r"""A line break of HTML, a word with its apostrophes inside, or a mark of its own. ``\w`` is any script's."""

_ESCAPED = re.compile(r"\\[trn\\]")
_CHARACTER = {r"\t": " ", r"\r": " ", r"\n": " ", r"\\": "\\"}


def tokens_of(text: str) -> list[str]:
    """The words and marks of a text, in order; HTML line breaks count as blanks."""
    return [token for token in _TOKEN.findall(text) if not token.startswith("<br")]


class TextFormat(Format):
    """Labelled texts: the columns of text and label, counted from 0, and the number of columns."""

    kind: Literal["labelled_text"] = "labelled_text"
    label: int
    text: int
    columns: int
    encoding: str = "utf-8"

    @property
    def layers(self) -> tuple[str, ...]:
        """The label."""
        return ("label",)

    @property
    def unit(self) -> Unit:
        """The words and marks of a text."""
        return "text"

    def task(self, layer: str) -> str:
        """The task of the only layer."""
        return "classification"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        r"""The tokens of each text and, as their single tag, its label. Lines end at ``\n`` only.

        ``\t``, ``\r``, ``\n`` and ``\\`` in a text stand for a tab, line ends and a backslash. Raises UserError with
        file and line for a wrong number of columns, an empty label, and a text without tokens.
        """
        sentences = []
        for number, line in file.lines(self.encoding):
            if not line:
                continue
            fields = line.split("\t")
            if len(fields) != self.columns:
                raise file.error(number, _other_columns(len(fields), self.columns))
            if not fields[self.label].strip():
                raise file.error(number, "got an empty label, allowed: a label for every text")
            tokens = tokens_of(_ESCAPED.sub(lambda found: _CHARACTER[found[0]], fields[self.text]))
            if not tokens:
                raise file.error(number, f"got the text {fields[self.text][:40]!r}, allowed: one word at least")
            sentences.append(Sentence(tuple(tokens), (fields[self.label].strip(),)))
        return sentences


def _other_columns(count: int, allowed: int) -> str:
    hint = "; a label that is in the path of its file is read with kind: labelled_files" if count == 1 else ""
    return f"got {counted(count, 'column')}, allowed: {allowed} separated by tabs{hint}"
