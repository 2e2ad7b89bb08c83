"""F1 of spans, counted as by conlleval.

Array legend: R lanes, N tokens of a split one sentence after another, S its sentences, S1 = S + 1, M spans, C counts, x
any axes.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, Numbers
from skipstack.data.labels.spans import Spans, TagReading, find_spans, reading
from skipstack.data.tasks.measure import Counts, Measure, Predicted, share

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, slots=True)
class SpanCounts(Counts):
    """The numbers of spans in the ``gold`` tags and of ``predicted`` ones; ``correct``: those right in start, stop and
    type.

    ``segmented``: those right in start and stop, with any type: for joint segmentation and tagging, the right
    words.
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
        """``f1`` without types: that of segmentation alone."""
        return _f1(self.segmented, self.gold + self.predicted)

    @property
    def value(self) -> float:
        """F1."""
        return self.f1

    def curves(self) -> dict[str, float]:
        """F1, precision and recall, and the F1 of segmentation."""
        return {
            F1.name: self.f1,
            "precision": self.precision,
            "recall": self.recall,
            "segmentation_f1": self.segmentation_f1,
        }

    def recorded(self) -> dict[str, int | float]:
        """The counts, as ``correct_spans``."""
        return {f"{name}_spans": count for name, count in asdict(self).items()}


@final
@dataclass(frozen=True)
class F1(Measure):
    """Spans of tags that have a scheme: right in start, stop and type."""

    name = "f1"
    label = "F1"
    unit = "F1"
    counted = tuple(field.name for field in fields(SpanCounts))
    keys = tuple(f"{name}_spans" for name in counted)

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """The counts of spans in the tags of each lane, compared with the gold ones."""
        chosen = corpus.splits[split]
        assert corpus.scheme is not None, "tags without a scheme have no spans"
        assert chosen.spans is not None, "a corpus with a scheme has spans"
        how = reading(corpus.tags, corpus.scheme, corpus.span_types)
        return spans_by_sentence(predicted.tags_RL, chosen.offsets_S1, how, chosen.spans)

    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """The sums."""
        return tuple(SpanCounts(*counts) for counts in counts_RC.tolist())

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """F1; 0 without spans. It is not the mean of the sentences' F1."""
        gold_x, predicted_x, correct_x, _ = np.moveaxis(counts_xC, -1, 0)
        return share(2 * correct_x, gold_x + predicted_x)

    def described(self, metrics: Mapping[str, float]) -> str:
        """Right tags, and spans."""
        spans = span_counts(metrics)
        found = f"{spans.correct} of {spans.gold} spans found among {spans.predicted} (F1 {spans.f1:.2%})"
        return f"{super().described(metrics)}, {found}"


def span_counts(metrics: Mapping[str, float]) -> SpanCounts:
    """The span counts in a bundle's metrics of a split: the inverse of ``SpanCounts.recorded``."""
    return SpanCounts(*(int(metrics[key]) for key in F1.keys))


def spans_by_sentence(tags_RN: Ids, offsets_S1: Ids, how: TagReading, gold: Spans) -> Ids:
    """Compares the spans in the predicted tags of each lane with the gold ones of the same tokens, sentence by
    sentence: counts_RSC, in the order of ``SpanCounts``.
    """
    lane_M, found = find_spans(tags_RN, offsets_S1, how)
    gold_N = np.full(tags_RN.shape[1], -1)
    gold_N[gold.start_M] = np.arange(len(gold.start_M))
    beside_M = gold_N[found.start_M]  # the gold span with the same start, -1 for none
    segmented_M = beside_M >= 0
    segmented_M[segmented_M] = gold.stop_M[beside_M[segmented_M]] == found.stop_M[segmented_M]
    correct_M = segmented_M.copy()
    correct_M[segmented_M] = gold.type_M[beside_M[segmented_M]] == found.type_M[segmented_M]
    lanes, sentences = len(tags_RN), len(offsets_S1) - 1

    def counted(lane_M: Ids, start_M: Ids) -> Ids:
        """The number of spans that start in each sentence of each lane."""
        sentence_M = np.searchsorted(offsets_S1, start_M, side="right") - 1
        return np.bincount(lane_M * sentences + sentence_M, minlength=lanes * sentences).reshape(lanes, sentences)

    gold_RS = np.tile(counted(np.zeros_like(gold.start_M), gold.start_M)[:1], (lanes, 1))
    found_3RS = [
        counted(lane_M[chosen_M], found.start_M[chosen_M]) for chosen_M in (lane_M >= 0, correct_M, segmented_M)
    ]
    return np.stack([gold_RS, *found_3RS], axis=-1)


def _f1(correct: int, spans: int) -> float:
    return 2 * correct / spans if spans else 0.0
