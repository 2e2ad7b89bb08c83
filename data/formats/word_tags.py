"""Tagged words, one sentence a line: ``word_TAG`` or ``word/TAG``, as in treebanks of French and Chinese, or
``word:TAG``, as in copies of the MIT corpora of slots.

In the People's Daily, the first token of each line is an ID, and names of several words have brackets around them,
``[中央/n 台/n]nt``. Both can be skipped.
"""

import re
from collections.abc import Mapping
from itertools import repeat
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from pydantic import Field, model_validator

from skipstack.data.basis.frozen import UNSAID
from skipstack.data.formats.characters import in_characters, split_words
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Encoding, FileCorpus, TaskOfLayer, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.span_tags import SpanTags
from skipstack.data.labels.schemes import Scheme

Mark = Literal["_", "/", ":"]

MARKS: Final[tuple[Mark, ...]] = get_args(Mark)

_CLOSED = re.compile(r"(?<=.)](?:[^/\]]*)$")
"""Matches the end of a token after its tag: a closing bracket, and the type of the name that the bracket closes."""


class WordTagCorpus(FileCorpus):
    """Files of ``word_TAG``, ``word/TAG`` or ``word:TAG`` tokens, one sentence a line (``data/formats/word_tags.py``).

    ``unit``: the unit of tagging. ``word`` suits the French Treebank, for example. ``character`` segments the text as
    well, as for the Chinese Treebanks. Tags are then BMES with the word's tag, such as ``B-NR``. ``sentence`` learns
    the label after ``label_after``, one for each sentence. ``both`` learns the tags of words and this label together,
    as slots and intent.
    """

    layers = ("pos", "label", "both")
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"label": "classification", "both": "slots_and_intent"}

    kind: Literal["word_tag"] = "word_tag"
    separator: Mark = "_"
    """The separator of a word and its tag. The last separator in a token counts."""
    unit: Literal["word", "character", "sentence", "both"] = "word"
    """The unit of tagging."""
    encoding: Encoding = "utf-8"
    identified: bool = False
    """Whether each line begins with an ID, as in the People's Daily."""
    brackets: bool = False
    """Whether ``[`` before a word and ``]`` after a tag are brackets around names. Such brackets are skipped."""
    scheme: Annotated[Scheme | None, UNSAID] = None
    """The label scheme of the tags of words, to score them as spans by F1. With null, they are scored one by one."""
    label_after: Annotated[Annotated[str, Field(pattern=r"^\S+$")] | None, UNSAID] = None
    """The mark between the words of a line and the label of the sentence, such as ``<=>``. Null if sentences have no
    labels."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.scheme is not None and self.unit not in ("word", "both"):
            raise ValueError(
                f"scheme: got {self.scheme!r} for unit: {self.unit} (allowed: null, or unit: word or both)"
            )
        if self.unit in ("sentence", "both") and self.label_after is None:
            allowed = "the mark before a label, such as <=>"
            raise ValueError(f"label_after: got null for unit: {self.unit} (allowed: {allowed})")
        return self

    @property
    def layer(self) -> str:
        """The layer to learn: tags of words, labels of sentences, or both."""
        return {"sentence": "label", "both": "both"}.get(self.unit, "pos")

    @property
    def label_scheme(self) -> Scheme | None:
        """BMES if tokens are characters, otherwise the scheme of the tags of words, if they have one."""
        return "bmes" if self.unit == "character" else self.scheme

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens: characters, or words."""
        return "character" if self.unit == "character" else "word"

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the words of each line, or the characters of these words, with their tags.

        A bracket that is itself a word stays a word. Empty lines are skipped. Illegal sequences of tags are repaired
        (``data.labels.schemes.repaired``). Raises UserError, with file and line, for a token that is not a word and a
        tag, for a tag that is not in the scheme, for a line with only an ID or without the label, and for bytes that
        are not text in the encoding. Also raises it for brackets that are not balanced on their line or are within a
        word.
        """
        sentences, span_tags = [], SpanTags(file, self.scheme)
        for number, line in file.lines(self.encoding):
            tokens = split_words(line)
            if not tokens:
                continue
            if self.identified:
                tokens = tokens[1:]
                if not tokens:
                    raise file.error(number, f"got {line.strip()!r} alone, allowed: words after the id of a line")
            label = ""
            if self.label_after is not None:
                tokens, label = _labelled(file, number, tokens, self.label_after)
            if self.brackets:
                tokens = _without_brackets(file, number, tokens, self.separator)
            pairs = [_parted(file, number, token, self.separator) for token in tokens]
            words, tags = zip(*pairs, strict=True)
            match self.unit:
                case "word" | "both":
                    intent = label if self.unit == "both" else None
                    sentences.append(Sentence(words, span_tags.of(tags, repeat(number)), intent=intent, written=tags))
                case "character":
                    sentences.append(in_characters(words, tags))
                case "sentence":
                    sentences.append(Sentence(words, (label,)))
        return sentences


def _parted(file: SourceFile, number: int, token: str, separator: Mark) -> tuple[str, str]:
    word, _, tag = token.rpartition(separator)
    if not word or not tag:
        other = next((mark for mark in MARKS if all(token.rpartition(mark)[::2])), None)
        hint = "" if other is None else f"; with separator: {other!r}, word{other}TAG"
        raise file.error(number, f"got {token!r}, allowed: word{separator}TAG{hint}")
    return word, tag


def _labelled(file: SourceFile, number: int, tokens: list[str], mark: str) -> tuple[list[str], str]:
    """Divide the tokens of a line at the last ``mark``: the words before it, and the label after it."""
    place = len(tokens) - 1 - tokens[::-1].index(mark) if mark in tokens else 0
    words, label = tokens[:place], " ".join(tokens[place + 1 :])
    if not words or not label:
        raise file.error(number, f"got {' '.join(tokens)[:40]!r}, allowed: words, {mark}, the label of the sentence")
    return words, label


def _without_brackets(file: SourceFile, number: int, tokens: list[str], separator: Mark) -> list[str]:
    bare, open_brackets = [], 0
    for token in tokens:
        opened = token.startswith("[") and not token.startswith(f"[{separator}")
        closed = _CLOSED.search(token)
        inner = token[opened : closed.start() if closed else None]
        word, _, tag = inner.rpartition(separator)
        if (len(word) > 1 and {*"[]"} & {*word}) or {*"[]"} & {*tag}:
            raise file.error(number, f"got {token!r}, a bracket within a word, allowed: brackets around whole words")
        open_brackets += opened - (closed is not None)
        if open_brackets < 0:
            raise file.error(number, f"got {token!r}, a ] without its [, allowed: both on the same line")
        bare.append(inner)
    if open_brackets:
        raise file.error(number, "got a [ without its ], allowed: both on the same line")
    return bare
