"""Parallel files: words in one file, tags in another beside it, one sentence a line in both.

Slot filling is published so (SNIPS and ATIS: ``seq.in``, ``seq.out``, and ``label`` with an intent a sentence).
"""

import re
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.formats.columns import TagCheck
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme, repaired

_BLANKS = re.compile("[ \t]+")
"""The separator of words: blanks and tabs, but not all Unicode spaces, since a word may contain U+00A0."""


class ParallelFormat(Format):
    """Words and tags in two files side by side, whose paths differ in their ends: ``words`` and ``tags``.

    ``unit_of_tags``: whether a line of tags has one for each word, or is the label of the whole sentence;
    ``label_scheme`` is the label scheme of the tags of words, None for tags of single tokens.
    """

    kind: Literal["parallel"] = "parallel"
    words: str
    tags: str
    unit_of_tags: Literal["word", "sentence"] = "word"
    encoding: str = "utf-8"
    label_scheme: Scheme | None = None

    @property
    def layers(self) -> tuple[str, ...]:
        """Tags of words, or labels of sentences."""
        return ("tag" if self.unit_of_tags == "word" else "label",)

    @property
    def scheme(self) -> Scheme | None:
        """The label scheme, if the tags have one."""
        return self.label_scheme

    def task(self, layer: str) -> str:
        """Tagging, or classification for labels of sentences."""
        return "tagging" if layer == "tag" else "classification"

    def beside(self, path: Path) -> Path:
        """The same path with the end ``tags`` in place of ``words``. Raises UserError for a path with another end."""
        if not str(path).endswith(self.words):
            raise UserError(f"{path}: got a name of another end (allowed: words: {self.words}, or words: its own end)")
        return Path(str(path).removesuffix(self.words) + self.tags)

    def digest(self, file: SourceFile) -> str:
        """The digest of the bytes of both files."""
        assert file.beside is not None, "the corpus reads both"
        return identity([file.sha256, file.beside.sha256])

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The words of each line with the tags on the same line of the file beside.

        Lines that are empty in both files are skipped; illegal sequences of tags are repaired
        (``data.labels.schemes.repaired``). Raises UserError with file and line for a line that only one file has, a
        number of tags that differs from that of words, a tag outside the scheme, and bytes that are not text in the
        encoding.
        """
        tags_file = file.beside
        assert tags_file is not None, "the corpus reads both"
        check_tag = None if self.label_scheme is None else TagCheck(tags_file, self.label_scheme)
        sentences = []
        nothing = (0, "")
        lines = zip_longest(file.lines(self.encoding), tags_file.lines(self.encoding), fillvalue=nothing)
        for number, ((of_words, text), (of_tags, written)) in enumerate(lines, start=1):
            words = _parts(text)
            tags = _parts(written) if layer == "tag" else [written.strip(" \t")] if written.strip(" \t") else []
            if not words and not tags:
                continue
            if not words or not tags:
                lacking, other = (file, tags_file) if tags else (tags_file, file)
                what = "words" if tags else "tags" if layer == "tag" else "a label"
                raise lacking.error(number, f"got nothing, allowed: {what} for line {number} of {other.path}")
            if layer == "tag" and len(tags) != len(words):
                allowed = f"one for each of the {counted(len(words), 'word')} on line {of_words} of {file.path}"
                raise tags_file.error(of_tags, f"got {counted(len(tags), 'tag')}, allowed: {allowed}")
            if check_tag is not None:
                for tag in tags:
                    check_tag(number, tag)
            scheme = self.label_scheme
            sentences.append(Sentence(tuple(words), tuple(tags) if scheme is None else repaired(tags, scheme)))
        return sentences


def _parts(line: str) -> list[str]:
    return [part for part in _BLANKS.split(line) if part]
