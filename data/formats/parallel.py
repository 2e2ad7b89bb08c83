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
from skipstack.data.basis.frozen import UNSAID
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

    layers = ("tag", "label", "both")
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"label": "classification", "both": "slots_and_intent"}

    kind: Literal["parallel"] = "parallel"
    words: NameEnd = "seq.in"
    """The end of the name of a file of words, such as ``seq.in`` or ``.words``."""
    tags: NameEnd = "seq.out"
    """The end of the name of a file of tags, such as ``seq.out``. The rest of the name is the same as in the file of
    words."""
    unit: Literal["word", "sentence", "both"] = "word"
    """Whether a line of tags has a tag for each word, or is the label of the whole sentence. ``both`` learns slots and
    intents together: the tags of words, and the labels in a third file."""
    labels: Annotated[NameEnd, UNSAID] = "label"
    """The end of the name of a file of labels, if ``unit`` is ``both``. The rest of the name is the same."""
    encoding: Encoding = "utf-8"
    scheme: Scheme | None = None
    """The label scheme of the tags of words, to score them as spans by F1. With None, they are scored one by one."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.words == self.tags:
            raise ValueError(f"tags: got {self.tags!r}, the end of words, too (allowed: that of another file)")
        if self.unit == "both" and self.labels in (self.words, self.tags):
            what = "words" if self.labels == self.words else "tags"
            raise ValueError(f"labels: got {self.labels!r}, the end of {what}, too (allowed: that of another file)")
        if self.unit == "sentence" and self.scheme is not None:
            raise ValueError(
                f"scheme: got {self.scheme!r} for labels of sentences (allowed: null, or unit: word or both)"
            )
        return self

    @property
    def layer(self) -> str:
        """The layer to learn: tags of words, labels of sentences, or both."""
        return {"word": "tag", "sentence": "label", "both": "both"}[self.unit]

    def beside(self, path: Path) -> tuple[Path, ...]:
        """The files of tags, and of labels if they are learned too, for a file of words. Raises UserError if the path
        does not end as ``words`` says.
        """
        if not str(path).endswith(self.words):
            raise UserError(f"{path}: got a name of another end (allowed: words: {self.words}, or words: its own end)")
        ends = (self.tags, self.labels) if self.unit == "both" else (self.tags,)
        return tuple(Path(str(path).removesuffix(self.words) + end) for end in ends)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words of each line. Their tags, or the label, are on the same line of the file of tags. In the layer
        ``both``, the label is on the same line of the file of labels.

        Lines that are empty in all files are skipped. Illegal sequences of tags are repaired
        (``data.labels.schemes.repaired``). Raises UserError, with file and line, for a line that only some files have,
        a tag too many or too few, a tag that is not in the scheme, and bytes that are not text in the encoding.
        """
        files = (file, *file.beside)
        needed = ("words", "a label") if layer == "label" else ("words", "tags", "a label")
        span_tags = SpanTags(files[1], self.scheme)
        sentences = []
        lines = zip_longest(*(each.lines(self.encoding) for each in files), fillvalue=(0, ""))
        for number, read in enumerate(lines, start=1):
            texts = [between_blanks(text) for _, text in read]
            if not any(texts):
                continue
            if not all(texts):
                lacking, other = ([bool(text) for text in texts].index(there) for there in (False, True))
                allowed = f"{needed[lacking]} for line {number} of {files[other].path}"
                raise files[lacking].error(number, f"got nothing, allowed: {allowed}")
            words, tags, label = texts[0], texts[1], read[-1][1].strip(" \t")
            if layer == "label":
                tags = [label]
            elif len(tags) != len(words):
                allowed = f"one for each of the {counted(len(words), 'word')} on line {number} of {file.path}"
                raise files[1].error(number, f"got {counted(len(tags), 'tag')}, allowed: {allowed}")
            tagged, intent = span_tags.of(tags, repeat(number)), label if layer == "both" else None
            sentences.append(Sentence(tuple(words), tagged, intent=intent, written=tuple(tags)))
        return sentences
