"""Turns spans that are given by characters, as annotation tools write them, into tags of tokens.

Each line of a text is a sentence. Its tags are BIO.
"""

import re
from abc import ABC
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Literal

from pydantic import Field

from skipstack.data.basis.counted import counted
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import FileCorpus, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme, Span, tags_of

_LINE: Final = re.compile(r"[^\r\n]+")

_SHOWN: Final = 40
"""The maximum length of a span in a message, in characters."""


class CharacterSpanCorpus(FileCorpus, ABC):
    """The base of formats that have texts and spans by characters (``data/formats/character_spans.py``)."""

    types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The types of spans to learn. Spans of other types are skipped. Null means all types."""
    unit: Unit = "text"
    """The tokens of a text: its words and punctuation marks (``text``), words between blanks (``word``), or its
    characters (``character``), for text without blanks between words."""
    misfits: Literal["refuse", "fit"] = "refuse"
    """The treatment of spans that tags of tokens cannot express: ``refuse`` the file, or ``fit`` them. Fitting extends
    a span that cuts a token to the whole token, fills the gaps of a span in several pieces, and keeps only the longest
    of spans that share a token. It leaves out spans on several lines, and spans without a token. ``data describe``
    counts the fitted and the omitted spans."""

    @property
    def label_scheme(self) -> Scheme:
        """BIO, in which spans are written."""
        return "bio"

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens, as set in ``unit``."""
        return self.unit


@dataclass(frozen=True, slots=True)
class CharacterSpan:
    """A span of a text: characters ``start`` to ``stop`` - 1. ``line``: the line of the file that has the span.
    ``whole``: False if the file has the span in several pieces.
    """

    start: int
    stop: int
    type: str
    line: int
    whole: bool = True


@dataclass(slots=True)
class SpanReader:
    """Turns the texts of a file and their spans into sentences. Call ``add`` for each text, then ``sentences``.

    ``file``: the file of the spans, which errors name. ``config``: its fields ``types`` and ``misfits`` are used.
    """

    file: SourceFile
    config: CharacterSpanCorpus
    _sentences: list[Sentence] = field(default_factory=list, init=False)
    _misfits: list[tuple[int, str, int]] = field(default_factory=list, init=False)
    """The line of each span that tags cannot express, what is wrong with it, and the number of earlier sentences."""

    def add(self, text: str, tokens: Sequence[tuple[int, int]], spans: Sequence[CharacterSpan], document: str) -> None:
        """Add a sentence for each line that has tokens. ``tokens``: the start and end of each token, in order.
        ``document``: as in ``Sentence``.

        Raises UserError, with file and line, for a span outside of the text, and for a span without a type.
        """
        starts, stops = [start for start, _ in tokens], [stop for _, stop in tokens]
        lines = [(bisect_left(starts, each.start()), bisect_left(starts, each.end())) for each in _LINE.finditer(text)]
        lines = [(first, last) for first, last in lines if first < last]
        begins, ends = [begin for begin, _ in lines], [end for _, end in lines]
        found: dict[Span, CharacterSpan] = {}
        for span in spans:
            self._check(text, span)
            if self.config.types is not None and span.type not in self.config.types:
                continue
            first, last = bisect_right(stops, span.start), bisect_left(starts, span.stop)
            if first >= last or span.start == span.stop:
                self._note(text, span, "which has no token")
            elif bisect_left(begins, last) - bisect_right(ends, first) > 1:
                self._note(text, span, "which is on several lines")
            else:
                if not span.whole:
                    self._note(text, span, "which is in several pieces")
                elif starts[first] < span.start or stops[last - 1] > span.stop:
                    within = first if starts[first] < span.start else last - 1
                    self._note(text, span, f"which cuts the token {text[starts[within] : stops[within]]!r}")
                found.setdefault(Span(first, last, span.type), span)
        chosen = self._disjoint(text, found)
        self._sentences += [
            Sentence(
                tuple(text[start:stop] for start, stop in tokens[begin:end]),
                tags_of([Span(a.start - begin, a.stop - begin, a.type) for a in within], end - begin, "bio"),
                document=document,
            )
            for begin, end in lines
            for within in [chosen[bisect_left(chosen, begin, key=_start) : bisect_left(chosen, end, key=_start)]]
        ]

    def sentences(self) -> list[Sentence]:
        """Return the sentences of all texts. The first sentence of a text counts the text's spans that were fitted or
        left out (``Sentence.fitted``). If the text has no sentence, the next sentence counts them, or else the last.

        Raises UserError if the file has a span that tags cannot express, unless such spans are to be fitted.
        """
        if self._misfits and self.config.misfits == "refuse":
            line, message, _ = min(self._misfits)
            count = counted(len(self._misfits), "span does", "spans do")
            raise self.file.error(line, f"{message}; {count} not fit, allowed: none, or misfits: fit")
        fitted = Counter(min(place, len(self._sentences) - 1) for _, _, place in self._misfits)
        return [replace(each, fitted=fitted[place]) for place, each in enumerate(self._sentences)]

    def _check(self, text: str, span: CharacterSpan) -> None:
        if not 0 <= span.start <= span.stop <= len(text):
            got = f"got a span from character {span.start} to {span.stop}"
            raise self.file.error(span.line, f"{got}, allowed: 0 to {len(text)}, the length of the text")
        if not span.type.strip():
            raise self.file.error(span.line, f"got a span without a type, {_shown(text, span)}, allowed: a type")

    def _disjoint(self, text: str, found: dict[Span, CharacterSpan]) -> list[Span]:
        """Choose the longest of spans that share a token. Returns the chosen spans in the order of the text."""
        chosen: list[Span] = []
        for span in sorted(found, key=lambda each: (each.start - each.stop, each.start)):
            place = bisect_left(chosen, span.start, key=_start)
            # The chosen spans share no token, so no other than these two can share one with this span.
            beside = chosen[max(place - 1, 0) : place + 1]
            if any(span.start < other.stop and other.start < span.stop for other in beside):
                self._note(text, found[span], "which shares a token with another span")
            else:
                chosen.insert(place, span)
        return chosen

    def _note(self, text: str, span: CharacterSpan, what: str) -> None:
        self._misfits.append((span.line, f"got the span {_shown(text, span)}, {what}", len(self._sentences)))


def _start(span: Span) -> int:
    return span.start


def _shown(text: str, span: CharacterSpan) -> str:
    return f"{text[span.start : span.stop][:_SHOWN]!r} ({span.start} to {span.stop})"
