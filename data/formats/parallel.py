"""Parallel files: a file of words and a file of tags beside it, with one sentence a line in both.

Corpora for slot filling, such as SNIPS and ATIS, have this form: ``seq.in``, ``seq.out``, and intents in ``label``.
"""

from collections.abc import Mapping
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import Encoding, FileCorpus, TaskOfLayer
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.span_tags import SpanTags
from skipstack.data.labels.schemes import Scheme

NameEnd = Annotated[str, Field(pattern=r"^[^/\\\x00]+$")]
"""The end of a file's name, without any folder."""


class ParallelCorpus(FileCorpus):
    """Words and tags in two files side by side, one sentence a line in both (``data/formats/parallel.py``).

    SNIPS and ATIS are published in this form: ``train/seq.in``, ``train/seq.out``, and ``train/label``. ``train``,
    ``dev`` and ``test`` name the files of words.
    """

    layers = ("tag", "label")
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"label": "classification"}

    kind: Literal["parallel"] = "parallel"
    words: NameEnd = "seq.in"
    """The end of the name of a file of words, such as ``seq.in`` or ``.words``."""
    tags: NameEnd = "seq.out"
    """The end of the name of a file of tags, such as ``seq.out``. The rest of the name is the same as in the file of
    words."""
    unit: Literal["word", "sentence"] = "word"
    """Whether a line of tags has a tag for each word, or is the label of the whole sentence."""
    encoding: Encoding = "utf-8"
    scheme: Scheme | None = None
    """The label scheme of the tags of words, to score them as spans by F1. With None, they are scored one by one."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.words == self.tags:
            raise ValueError(f"tags: got {self.tags!r}, the end of words, too (allowed: that of another file)")
        if self.unit == "sentence" and self.scheme is not None:
            raise ValueError(f"scheme: got {self.scheme!r} for labels of sentences (allowed: null, or unit: word)")
        return self

    @property
    def layer(self) -> str:
        """The layer to learn: tags of words, or labels of sentences."""
        return "tag" if self.unit == "word" else "label"

    def beside(self, path: Path) -> Path:
        """The file of tags for a file of words. Raises UserError if the path does not end as ``words`` says."""
        if not str(path).endswith(self.words):
            raise UserError(f"{path}: got a name of another end (allowed: words: {self.words}, or words: its own end)")
        return Path(str(path).removesuffix(self.words) + self.tags)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words of each line. Their tags, or the label, are on the same line of the file of tags.

        Lines that are empty in both files are skipped. Illegal sequences of tags are repaired
        (``data.labels.schemes.repaired``). Raises UserError, with file and line, for a line that only one file has, a
        tag too many or too few, a tag that is not in the scheme, and bytes that are not text in the encoding.
        """
        tags_file = file.beside
        assert tags_file is not None, "the corpus reads both"
        span_tags = SpanTags(tags_file, self.scheme)
        sentences = []
        nothing = (0, "")
        lines = zip_longest(file.lines(self.encoding), tags_file.lines(self.encoding), fillvalue=nothing)
        for number, ((of_words, text), (of_tags, written)) in enumerate(lines, start=1):
            words, tags = between_blanks(text), between_blanks(written)
            if not words and not tags:
                continue
            if not words or not tags:
                lacking, other = (file, tags_file) if tags else (tags_file, file)
                what = "words" if tags else "tags" if layer == "tag" else "a label"
                raise lacking.error(number, f"got nothing, allowed: {what} for line {number} of {other.path}")
            if layer == "label":
                tags = [written.strip(" \t")]
            elif len(tags) != len(words):
                allowed = f"one for each of the {counted(len(words), 'word')} on line {of_words} of {file.path}"
                raise tags_file.error(of_tags, f"got {counted(len(tags), 'tag')}, allowed: {allowed}")
            sentences.append(Sentence(tuple(words), span_tags.of(tags, repeat(number)), written=tuple(tags)))
        return sentences
