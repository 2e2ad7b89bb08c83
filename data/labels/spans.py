"""Finds spans in arrays of tag IDs, as conlleval does.

Array legend: R lanes (a lane is one seed's copy of the network), N tokens of a split, one sentence after another, S1
sentences + 1, K tags + 1, M spans.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from skipstack.data.basis.arrays import Flags, Ids
from skipstack.data.labels.schemes import CLOSING, OPENING, OUTSIDE, Scheme, parted_or_outside


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The spans of a split, in order: tokens ``start_M`` to ``stop_M`` - 1. ``type_M``: the indices of their types."""

    start_M: Ids
    stop_M: Ids
    type_M: Ids


@dataclass(frozen=True, slots=True, eq=False)
class TagReading:
    """The meaning of each tag, for finding spans. The last entry is for the tag -1 (no decision), which is read as O.

    ``opens_K``: whether the tag always begins a span. ``closes_K``: whether the tag always ends a span. ``type_K``: the
    index of the tag's type; -1 for O, RARE and intents, which are in no span.
    """

    opens_K: Flags
    closes_K: Flags
    type_K: Ids


def types_of(tags: Iterable[str], scheme: Scheme) -> tuple[str, ...]:
    """The types of spans in ``tags``, sorted. Raises ValueError for a tag that is not in the scheme."""
    parts = {parted_or_outside(tag, scheme) for tag in tags}
    return tuple(sorted({span_type for prefix, span_type in parts if prefix != OUTSIDE}))


def reading(tags: Sequence[str], scheme: Scheme, types: Sequence[str]) -> TagReading:
    """Find the meaning of each of ``tags``. ``types``: all types of spans, in the order of their indices."""
    row_of = {span_type: row for row, span_type in enumerate(types)}
    parts = [*(parted_or_outside(tag, scheme) for tag in tags), (OUTSIDE, "")]
    return TagReading(
        opens_K=np.array([prefix in OPENING for prefix, _ in parts], dtype=bool),
        closes_K=np.array([prefix in CLOSING for prefix, _ in parts], dtype=bool),
        type_K=np.array([-1 if prefix == OUTSIDE else row_of[name] for prefix, name in parts], dtype=np.int32),
    )


def find_spans(tags_RN: Ids, offsets_S1: Ids, how: TagReading) -> tuple[Ids, Spans]:
    """Find the spans of every lane, as ``data.labels.schemes.spans_of`` does.

    ``tags_RN``: the tag of each token. ``offsets_S1``: the first token of each sentence, and the number of tokens.
    ``how``: the meaning of each tag. Returns the lane of each span, and the spans, lane by lane.
    """
    first_N = np.zeros(tags_RN.shape[1], dtype=bool)
    first_N[offsets_S1[:-1]] = True
    type_RN = how.type_K[tags_RN]
    closed_RN = how.closes_K[tags_RN] | (type_RN < 0)
    # np.roll puts the last token before the first. This is harmless: a sentence's first token depends on no other.
    alone_RN = np.roll(closed_RN, 1, axis=1) | (np.roll(type_RN, 1, axis=1) != type_RN)
    starts_RN = (type_RN >= 0) & (first_N | how.opens_K[tags_RN] | alone_RN)
    next_RN = np.roll(first_N | (type_RN < 0) | starts_RN, -1, axis=1)  # after the last token comes the first
    stops_RN = (type_RN >= 0) & next_RN
    lane_M, start_M = np.nonzero(starts_RN)
    return lane_M, Spans(start_M, np.nonzero(stops_RN)[1] + 1, type_RN[lane_M, start_M])
