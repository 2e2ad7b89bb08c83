"""Label schemes: convert the spans of a text to one tag per token, and back.

The tag of a token outside of every span is ``O``. Any other tag is a prefix and the type of its span, as in ``B-city``.
If spans have no types, it is the prefix alone. Array legend: K tags.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator

from skipstack.data.labels.transitions import Transitions

OTHER_NAMES: Mapping[str, str] = {"iob2": "bio", "iob": "iob1", "iobes": "bioes", "biluo": "bilou"}
"""Other names of schemes, with the names used here. Plain IOB means IOB1, as in Ramshaw and Marcus (1995)."""


def by_name(name: object) -> object:
    """Find a scheme by any of its names, in any case. Returns other values unchanged, and validation refuses them."""
    if not isinstance(name, str):
        return name
    named = OTHER_NAMES.get(name.lower(), name.lower())
    return named if named in PREFIXES else name


Scheme = Annotated[Literal["bio", "iob1", "io", "bioes", "bilou", "bmes", "bmeso"], BeforeValidator(by_name)]
"""``bio`` (IOB2): B begins every span. ``iob1`` (IOB; CoNLL-2003): spans have I, and B begins only a span directly
after a span of the same type. ``io``: I alone, so no span can directly follow a span of the same type. ``bioes``
(IOBES): B, I, E, and S for a span of one token. ``bilou`` (BILUO): ``bioes`` with L for E and U for S. ``bmes``
(Chinese segmentation): ``bioes`` with M for I and without O, since every character is in a word. ``bmeso`` (Chinese
names): ``bmes`` with O."""

OUTSIDE = "O"

RARE = "RARE"
"""The tag that replaces rare tags (``data/store/rare.py``). It is in no span, and belongs to no scheme."""

INTENT = "intent:"
"""The beginning of a tag that is the intent of a sentence (``data/formats/intents.py``). The tag is in no span, and
belongs to no scheme."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a sentence: tokens ``start`` to ``stop`` - 1. ``type`` is empty if spans have no types."""

    start: int
    stop: int
    type: str


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes of a scheme, by the position of a token in its span.

    ``first``: for the first token. ``inside``: for tokens between the first and the last. ``last``: for the last token.
    ``single``: for the only token of a span. ``chained``: for the first token of a span directly after a span of the
    same type; None if such a span has no special prefix. ``outside``: whether the scheme has the tag O.
    """

    first: str
    inside: str
    last: str
    single: str
    chained: str | None = None
    outside: bool = True

    @property
    def all(self) -> tuple[str, ...]:
        """The prefixes of the scheme, each once."""
        written = (self.chained, self.first, self.inside, self.last, self.single)
        return tuple(dict.fromkeys(prefix for prefix in written if prefix is not None))

    @property
    def joining(self) -> tuple[str, ...]:
        """The prefixes that are legal only directly after a tag that has the same type and no ``CLOSING`` prefix."""
        return (self.chained,) if self.chained else tuple({self.inside, self.last} - {self.first})

    @property
    def merging(self) -> bool:
        """Whether a span directly after a span of the same type would be read as a continuation of that span."""
        return self.chained is None and self.first == self.inside

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The prefixes that the last token of a span cannot have."""
        return () if self.last == self.inside else (self.first, self.inside)


PREFIXES: Mapping[Scheme, Prefixes] = {
    "bio": Prefixes("B", "I", "I", "B"),
    "iob1": Prefixes("I", "I", "I", "I", chained="B"),
    "io": Prefixes("I", "I", "I", "I"),
    "bioes": Prefixes("B", "I", "E", "S"),
    "bilou": Prefixes("B", "I", "L", "U"),
    "bmes": Prefixes("B", "M", "E", "S", outside=False),
    "bmeso": Prefixes("B", "M", "E", "S"),
}

OPENING = ("B", "S", "U")
"""Prefixes that always begin a span, in every scheme that has them."""
CLOSING = ("E", "S", "L", "U")
"""Prefixes that always end a span, in every scheme that has them."""


def parted(tag: str, scheme: Scheme) -> tuple[str, str]:
    """Split a tag into prefix and type; O becomes ``("O", "")``. Raises ValueError if the tag is not in the scheme."""
    prefixes = PREFIXES[scheme]
    prefix, hyphen, span_type = tag.partition("-")
    if prefixes.outside and tag == OUTSIDE:
        return OUTSIDE, ""
    if prefix not in prefixes.all or (hyphen and not span_type):
        allowed = [*(["O"] if prefixes.outside else []), *(f"{each}-type" for each in prefixes.all)]
        raise ValueError(f"got the tag {tag!r}, allowed in {scheme}: {', '.join(allowed)}")
    return prefix, span_type


def parted_or_outside(tag: str, scheme: Scheme) -> tuple[str, str]:
    """Split a tag as ``parted`` does. RARE and intents, which are in no span, become ``("O", "")``."""
    return (OUTSIDE, "") if tag == RARE or tag.startswith(INTENT) else parted(tag, scheme)


def joined(prefix: str, span_type: str) -> str:
    """Join a prefix and a type to a tag: the inverse of ``parted``."""
    return f"{prefix}-{span_type}" if span_type else prefix


def spans_of(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """Find the spans of a sentence in any sequence of tags, as conlleval does (Tjong Kim Sang and Buchholz, 2000).

    A span begins at B or S. It also begins at I, M or E if this is the first tag, or comes after O, another type, E or
    S. A span ends before the next span, before O, or with the sentence. So every sequence can be read. On legal
    sequences this is the inverse of ``tags_of``. conlleval knows B, I, E and O. Here M counts as I, S as both B and E,
    L as E, and U as S. Raises ValueError for a tag that is not in the scheme.
    """
    found: list[Span] = []
    before = (OUTSIDE, "")
    for place, tag in enumerate(tags):
        prefix, span_type = parted(tag, scheme)
        if prefix != OUTSIDE:
            goes_on = prefix not in OPENING and before[0] not in (OUTSIDE, *CLOSING) and before[1] == span_type
            start = found.pop().start if goes_on else place
            found.append(Span(start, place + 1, span_type))
        before = (prefix, span_type)
    return found


def tags_of(spans: Sequence[Span], length: int, scheme: Scheme) -> tuple[str, ...]:
    """Write the tags of a sentence of ``length`` tokens. ``spans``: the spans of the sentence, sorted and disjoint.

    Raises ValueError for spans that overlap or are not sorted, and for a token outside every span if the scheme has no
    O. Also raises it for a span directly after a span of its type if the scheme would merge the two.
    """
    tags = [OUTSIDE] * length
    for before, after in pairwise([Span(0, 0, ""), *spans, Span(length, length, "")]):
        if not before.start <= before.stop <= after.start:
            raise ValueError(f"got {after} after {before}, allowed: spans that ascend and share no token")
    for before, span in pairwise([Span(-1, -1, ""), *spans]):
        chained = (before.stop, before.type) == (span.start, span.type)
        if chained and PREFIXES[scheme].merging:
            raise ValueError(f"got {span} directly after {before}, allowed in {scheme}: another type, or a gap")
        tags[span.start : span.stop] = [
            joined(prefix, span.type) for prefix in _written(span.stop - span.start, chained, PREFIXES[scheme])
        ]
    if not PREFIXES[scheme].outside and OUTSIDE in tags:
        raise ValueError(f"got no span at token {tags.index(OUTSIDE)}, allowed in {scheme}: every token in a span")
    return tuple(tags)


def _written(length: int, chained: bool, prefixes: Prefixes) -> Iterator[str]:
    """Yield the prefixes of a span's ``length`` tokens. ``chained``: whether it directly follows a span of its type."""
    first = prefixes.single if length == 1 else prefixes.first
    yield prefixes.chained if chained and prefixes.chained else first
    yield from [prefixes.inside] * (length - 2)
    if length > 1:
        yield prefixes.last


def repaired(tags: Sequence[str], scheme: Scheme) -> tuple[str, ...]:
    """Replace illegal sequences of tags by legal tags of the same spans. Raises ValueError as ``spans_of`` does."""
    return converted(tags, scheme, scheme)


def converted(tags: Sequence[str], source: Scheme, target: Scheme) -> tuple[str, ...]:
    """Write the spans of ``tags`` in another scheme. Raises ValueError as ``spans_of`` and ``tags_of`` do."""
    return tags_of(spans_of(tags, source), len(tags), target)


def closed(tags: Iterable[str], scheme: Scheme) -> set[str]:
    """Add to ``tags`` the inside tag of every type whose first and last tags are in ``tags``.

    ``tags``: all tags of some legal sentences, such as those of the training split. These sentences may lack I-x, the
    only tag for a token between B-x and E-x. With I-x, every sentence has a legal sequence of tags that equals its gold
    tags wherever these are known. So a CRF that is constrained to legal sequences can score every text. This requires
    that the result has O or a tag of a one-token span, such as S.
    """
    prefixes, known = PREFIXES[scheme], set(tags)
    parts = [parted_or_outside(tag, scheme) for tag in known]
    ends = {span_type for prefix, span_type in parts if prefix == prefixes.last}
    return known | {
        joined(prefixes.inside, span_type) for span_type in ends if joined(prefixes.first, span_type) in known
    }


def transitions(tags: Sequence[str], scheme: Scheme) -> Transitions:
    """Find which transitions ``scheme`` allows in repaired sequences. Rows and columns have the order of ``tags``.

    If there are intents, a sentence ends with one, and nothing follows it. RARE may replace any tag, so every other
    transition to and from it is allowed. Raises ValueError for any other tag that is not in the scheme.
    """
    prefixes = PREFIXES[scheme]
    parts = [parted_or_outside(tag, scheme) for tag in tags]
    any_K = np.array([tag == RARE for tag in tags], dtype=bool)
    intent_K = np.array([tag.startswith(INTENT) for tag in tags], dtype=bool)
    in_span_K = np.array([prefix != OUTSIDE for prefix, _ in parts], dtype=bool)
    joining_K = np.array([prefix in prefixes.joining for prefix, _ in parts], dtype=bool)
    unfinished_K = np.array([prefix in prefixes.unfinished for prefix, _ in parts], dtype=bool)
    ended_K = np.array([prefix in CLOSING for prefix, _ in parts], dtype=bool)
    types_K = np.array([span_type for _, span_type in parts], dtype=np.str_)
    goes_on_KK = (in_span_K & ~ended_K)[:, None] & (types_K[:, None] == types_K)
    between_KK = np.where(joining_K, goes_on_KK, ~unfinished_K[:, None])
    return Transitions(
        start_K=~joining_K | any_K,
        between_KK=(between_KK | any_K[:, None] | any_K) & ~intent_K[:, None],
        end_K=(intent_K if intent_K.any() else ~unfinished_K) | any_K,
    )
