"""Finds the label scheme in which tags appear to be written."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, pairwise

from skipstack.data.labels.schemes import OUTSIDE, PREFIXES, Scheme, parted, transitions


def likely_scheme(sentences: Collection[Sequence[str]]) -> Scheme | None:
    """The scheme that forbids the fewest sequences of tags in ``sentences``; None if the tags mark no spans.

    Tags mark spans if all of them are in the scheme, and at least two different ones are not ``O``. If some tags have
    no type, all prefixes of a span of three tokens must occur too (``B``, ``I``, ``E``). Ties go to the first scheme in
    ``PREFIXES``.
    """
    tags = sorted(set().union(*sentences))
    found = [each for each in PREFIXES if _marks_spans(tags, each)]
    pairs = Counter(chain.from_iterable(pairwise([None, *each, None]) for each in sentences) if found else ())
    return min(found, key=lambda scheme: _forbidden(pairs, tags, scheme), default=None)


def _marks_spans(tags: Sequence[str], scheme: Scheme) -> bool:
    try:
        parts = [parted(tag, scheme) for tag in tags if tag != OUTSIDE]
    except ValueError:
        return False
    prefixes = PREFIXES[scheme]
    if OUTSIDE in tags and not prefixes.outside:
        return False
    typed = all(span_type for _, span_type in parts)
    return len(parts) > 1 and (typed or {prefixes.first, prefixes.inside, prefixes.last} <= {each for each, _ in parts})


def _forbidden(pairs: Counter[tuple[str | None, str | None]], tags: Sequence[str], scheme: Scheme) -> int:
    allowed, row_of = transitions(tags, scheme), {tag: row for row, tag in enumerate(tags)}

    def allows(before: str | None, after: str | None) -> bool:
        if before is None:
            return after is None or bool(allowed.start_K[row_of[after]])
        return bool(
            allowed.end_K[row_of[before]] if after is None else allowed.between_KK[row_of[before], row_of[after]]
        )

    return sum(count for pair, count in pairs.items() if not allows(*pair))
