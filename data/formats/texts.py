"""Labelled texts, one a line, in columns separated by tabs, such as reviews with their sentiment."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import chain, groupby
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import UNSAID
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Encoding, FileCorpus, TaskOfLayer, Unit
from skipstack.data.formats.sentences import Sentence

_TOKEN = r"""
<br\ */?>
| [^\W_]+ (?: (?=['\u0300-\U0010ffff]) (?: [{marks}]+ | (?:'|[\u200c\u200d]+)(?=[^\W_]) ) [^\W_]* )*
| (?:[^\w\s]|_) (?: (?![\x00-\u02ff]) [{marks}]+ )?
"""
r"""Matches a line break of HTML, a word that may contain apostrophes, or a single character of any other kind. ``\w``
matches letters of any script, but no combining marks, such as the vowels of Hindi and the accents of NFD. ``marks`` has
the combining marks, which belong to the character before them. Joiners (U+200C, U+200D) within a word belong to the
word. The two lookaheads at the start of a group only save time."""

_PLANES = (range(0x20000), range(0xE0000, 0xF0000))
"""The planes of Unicode that contain combining marks."""

_ESCAPED = re.compile(r"\\[trn\\]")
_CHARACTER = {r"\t": " ", r"\r": " ", r"\n": " ", r"\\": "\\"}


def tokens_of(text: str) -> list[str]:
    """Split a text into words and single other characters, such as punctuation marks. HTML line breaks count as
    blanks.
    """
    return [token for token in _token().findall(text) if not token.startswith("<br")]


def token_places(text: str) -> list[tuple[int, int]]:
    """The start and the end of each token of ``tokens_of``: its characters are ``text[start:end]``."""
    return [found.span() for found in _token().finditer(text) if not found[0].startswith("<br")]


@cache
def _token() -> re.Pattern[str]:
    """The compiled ``_TOKEN``. Consecutive marks are written as ranges, which match faster."""
    points = [point for point in chain(*_PLANES) if unicodedata.category(chr(point)).startswith("M")]
    runs = [[point for _, point in run] for _, run in groupby(enumerate(points), lambda each: each[1] - each[0])]
    return re.compile(_TOKEN.format(marks="".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)), re.VERBOSE)


def labelled(file: SourceFile, number: int, text: str, written: str, label: str) -> Sentence:
    """Split a text into tokens and return them as a sentence with a single tag, ``label``.

    ``file``, ``number``: the file and line that errors name. ``text``: the text to split. ``written``: the text as it
    is in the file. Raises UserError for a text without tokens.
    """
    tokens = tokens_of(text)
    if not tokens:
        raise file.error(number, f"got the text {written[:40]!r}, allowed: one word at least")
    return Sentence(tuple(tokens), (label,))


class TextCorpus(FileCorpus):
    """Texts to classify, one a line: the label, a tab, the text (``data/formats/texts.py``)."""

    layers = ("label",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"label": "classification"}

    kind: Literal["labelled_text"] = "labelled_text"
    encoding: Encoding = "utf-8"
    text: Annotated[int, Field(ge=1), UNSAID] = 1
    """The column of the text, which is the last column. Columns count from 0, and column 0 has the label."""

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens: the words and punctuation marks of a text."""
        return "text"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        r"""Read the tokens of each text, with its label as their single tag. Empty lines are skipped.

        ``\t``, ``\r``, ``\n`` and ``\\`` in a text stand for a tab, line ends and a backslash. Raises UserError, with
        file and line, for a wrong number of columns, an empty label, a text without tokens, and bytes that are not text
        in the encoding.
        """
        sentences = []
        for number, line in file.lines(self.encoding):
            if not line:
                continue
            fields = line.split("\t")
            if len(fields) != self.text + 1:
                raise file.error(number, _other_columns(len(fields), self.text + 1))
            label, written = fields[0], fields[self.text]
            if not label.strip():
                raise file.error(number, "got an empty label, allowed: a label for every text")
            text = _ESCAPED.sub(lambda found: _CHARACTER[found[0]], written)
            sentences.append(labelled(file, number, text, written, label.strip()))
        return sentences


def _other_columns(count: int, allowed: int) -> str:
    hint = "; a label that is in the path of its file is read with kind: labelled_files" if count == 1 else ""
    return f"got {counted(count, 'column')}, allowed: {allowed} separated by tabs{hint}"
