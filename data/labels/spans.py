"""Spans as arrays: found in tag ids, and counted as conlleval counts them.

Array legend: R lanes, N tokens of a split one sentence after another, S1 sentences + 1, K tags, M spans.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipstack.data.labels.schemes import CLOSING, OPENING, OUTSIDE, RARE, Scheme, parted

Ids = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The spans of a split, ascending: tokens ``start_M`` to ``stop_M`` - 1, of ``type_M``, a row of all types."""

    start_M: Ids
    stop_M: Ids
    type_M: Ids


@dataclass(frozen=True, slots=True, eq=False)
class TagReading:
    """What each tag says: whether it begins a span wherever it stands, whether it ends one, and its type.

    ``type_K`` is -1 for tags in no span: O and RARE.
    """

    opens_K: Flags
    closes_K: Flags
    type_K: Ids


def types_of(tags: Iterable[str], scheme: Scheme) -> tuple[str, ...]:
    """The types of the spans that ``tags`` are in, sorted."""
    parts = {parted(tag, scheme) for tag in tags}
    return tuple(sorted({span_type for prefix, span_type in parts if prefix != OUTSIDE}))


def reading(tags: Sequence[str], scheme: Scheme, types: Sequence[str]) -> TagReading:
    """How ``tags`` are read where ``types`` has the types of their spans."""
    row_of = {span_type: row for row, span_type in enumerate(types)}
    parts = [(OUTSIDE, "") if tag == RARE else parted(tag, scheme) for tag in tags]
    return TagReading(
        opens_K=np.array([prefix in OPENING for prefix, _ in parts], dtype=bool),
        closes_K=np.array([prefix in CLOSING for prefix, _ in parts], dtype=bool),
        type_K=np.array([-1 if prefix == OUTSIDE else row_of[name] for prefix, name in parts], dtype=np.int32),
    )


def find_spans(tags_RN: Ids, offsets_S1: Ids, how: TagReading) -> tuple[Ids, Spans]:
    """The lane of each span, and the spans of all lanes, lane by lane, as ``data.labels.schemes.spans_of`` has them."""
    first_N = np.zeros(tags_RN.shape[1], dtype=bool)
    first_N[offsets_S1[:-1]] = True
    type_RN = how.type_K[tags_RN]
    closed_RN = how.closes_K[tags_RN] | (type_RN < 0)
    # What stands before the first token of a sentence, and so also of the split, does not matter.
    alone_RN = np.roll(closed_RN, 1, axis=1) | (np.roll(type_RN, 1, axis=1) != type_RN)
    starts_RN = (type_RN >= 0) & (first_N | how.opens_K[tags_RN] | alone_RN)
    next_RN = np.roll(first_N | (type_RN < 0) | starts_RN, -1, axis=1)  # after the last token comes the first
    stops_RN = (type_RN >= 0) & next_RN
    lane_M, start_M = np.nonzero(starts_RN)
    return lane_M, Spans(start_M, np.nonzero(stops_RN)[1] + 1, type_RN[lane_M, start_M])


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Spans in the ``gold`` tags and ``predicted`` ones; ``correct`` of these in start, stop and type.

    ``segmented`` are right in start and stop, whatever the type: for joint segmentation and tagging, right words.
    """

    gold: int
    predicted: int
    correct: int
    segmented: int

    @property
    def precision(self) -> float:
        """The share of predicted spans that are correct; 0 where there is none, as for conlleval."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of gold spans that are found; 0 where there is none."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 2 correct / (gold + predicted), in [0, 1]; 0 without spans."""
        return _f1(self.correct, self.gold + self.predicted)

    @property
    def segmentation_f1(self) -> float:
        """``f1`` with types left out: that of segmentation alone."""
        return _f1(self.segmented, self.gold + self.predicted)


def count_spans(tags_RN: Ids, offsets_S1: Ids, how: TagReading, gold: Spans) -> tuple[SpanCounts, ...]:
    """How the spans in the predicted tags of each lane agree with the gold ones of the same tokens."""
    lane_M, found = find_spans(tags_RN, offsets_S1, how)
    gold_N = np.full(tags_RN.shape[1], -1)
    gold_N[gold.start_M] = np.arange(len(gold.start_M))
    beside_M = gold_N[found.start_M]  # the gold span that starts where the found one does, -1 for none
    segmented_M = beside_M >= 0
    segmented_M[segmented_M] = gold.stop_M[beside_M[segmented_M]] == found.stop_M[segmented_M]
    correct_M = segmented_M.copy()
    correct_M[segmented_M] = gold.type_M[beside_M[segmented_M]] == found.type_M[segmented_M]
    lanes = len(tags_RN)
    counts_3R = [np.bincount(lane_M[chosen_M], minlength=lanes) for chosen_M in (lane_M >= 0, correct_M, segmented_M)]
    return tuple(
        SpanCounts(gold=len(gold.start_M), predicted=predicted, correct=correct, segmented=segmented)
        for predicted, correct, segmented in np.stack(counts_3R, axis=1).tolist()
    )


def _f1(correct: int, spans: int) -> float:
    return 2 * correct / spans if spans else 0.0
