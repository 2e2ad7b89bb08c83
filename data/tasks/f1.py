"""F1 of spans, counted as by conlleval.

Array legend: R lanes (a lane is one seed's copy of the network), N tokens of a split, one sentence after another, S
sentences of a split, S1 = S + 1, M spans, C counts, x any axes.
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
    """The counts of spans from which F1 is computed.

    ``gold``: spans in the gold tags. ``predicted``: predicted spans. ``correct``: predicted spans with the right start,
    stop and type. ``segmented``: predicted spans with the right start and stop, whatever their type. In joint
    segmentation and tagging, these are the words that were found.
    """

    gold: int
    predicted: int
    correct: int
    segmented: int

    @property
    def precision(self) -> float:
        """The share of predicted spans that are correct. If none is predicted, it is 0, as in conlleval."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of gold spans that are predicted correctly; 0 without gold spans."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def value(self) -> float:
        """F1, the harmonic mean of precision and recall, 2 correct / (gold + predicted), in [0, 1]; 0 without spans."""
        return _f1(self.correct, self.gold + self.predicted)

    @property
    def segmentation_f1(self) -> float:
        """The F1 of the segmentation alone: only start and stop count, not the type."""
        return _f1(self.segmented, self.gold + self.predicted)

    def curves(self) -> dict[str, float]:
        """F1, precision, recall, and the F1 of the segmentation alone."""
        return {
            F1.name: self.value,
            "precision": self.precision,
            "recall": self.recall,
            "segmentation_f1": self.segmentation_f1,
        }

    def recorded(self) -> dict[str, int | float]:
        """The counts, by names such as ``correct_spans``."""
        return {f"{name}_spans": count for name, count in asdict(self).items()}


@final
@dataclass(frozen=True)
class F1(Measure):
    """The measure of tags that have a scheme. A predicted span is correct if its start, stop and type are all right."""

    name = "f1"
    label = "F1"
    unit = "F1"
    counted = tuple(field.name for field in fields(SpanCounts))
    counts_of_lane = SpanCounts
    keys = tuple(f"{name}_spans" for name in counted)
    """The names of the numbers that ``SpanCounts.recorded`` returns."""

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Compute the ``SpanCounts`` of each sentence in each lane: counts_RSC."""
        chosen = corpus.splits[split]
        assert corpus.scheme is not None, "tags without a scheme have no spans"
        assert chosen.spans is not None, "a corpus with a scheme has spans"
        how = reading(corpus.tags, corpus.scheme, corpus.span_types)
        return spans_by_sentence(predicted.tags_RL, chosen.offsets_S1, how, chosen.spans)

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """F1 from summed counts: value_x. It is 0 without spans. A split's F1 is not the mean F1 of its sentences."""
        gold_x, predicted_x, correct_x, _ = np.moveaxis(counts_xC, -1, 0)
        return share(2 * correct_x, gold_x + predicted_x)

    def described(self, metrics: Mapping[str, float]) -> str:
        """The numbers of correct tags and of correct spans, in words."""
        return f"{super().described(metrics)}, {found_spans(metrics, 'spans')}"


def span_counts(metrics: Mapping[str, float]) -> SpanCounts:
    """Read the span counts from a bundle's metrics of a split: the inverse of ``SpanCounts.recorded``."""
    return SpanCounts(*(int(metrics[key]) for key in F1.keys))


def found_spans(metrics: Mapping[str, float], what: str) -> str:
    """The numbers of spans from a bundle's metrics of a split, in words. ``what``: the noun for the spans."""
    spans = span_counts(metrics)
    return f"{spans.correct} of {spans.gold} {what} found among {spans.predicted} (F1 {spans.value:.2%})"


def spans_by_sentence(tags_RN: Ids, offsets_S1: Ids, how: TagReading, gold: Spans) -> Ids:
    """Count the spans of each sentence in each lane: counts_RSC. The counts have the order of ``SpanCounts``.

    ``tags_RN``: the predicted tags. ``offsets_S1``: the first token of each sentence, and the number of tokens.
    ``how``: the meaning of each tag. ``gold``: the gold spans of the same tokens.
    """
    lane_M, found = find_spans(tags_RN, offsets_S1, how)
    gold_N = np.full(tags_RN.shape[1], -1)
    gold_N[gold.start_M] = np.arange(len(gold.start_M))
    beside_M = gold_N[found.start_M]  # the gold span with the same start, or -1
    segmented_M = beside_M >= 0
    segmented_M[segmented_M] = gold.stop_M[beside_M[segmented_M]] == found.stop_M[segmented_M]
    correct_M = segmented_M.copy()
    correct_M[segmented_M] = gold.type_M[beside_M[segmented_M]] == found.type_M[segmented_M]
    lanes, sentences = len(tags_RN), len(offsets_S1) - 1

    def counted(lane_M: Ids, start_M: Ids) -> Ids:
        """Count the spans that start in each sentence of each lane."""
        sentence_M = np.searchsorted(offsets_S1, start_M, side="right") - 1
        return np.bincount(lane_M * sentences + sentence_M, minlength=lanes * sentences).reshape(lanes, sentences)

    gold_RS = np.tile(counted(np.zeros_like(gold.start_M), gold.start_M)[:1], (lanes, 1))
    found_3RS = [
        counted(lane_M[chosen_M], found.start_M[chosen_M]) for chosen_M in (lane_M >= 0, correct_M, segmented_M)
    ]
    return np.stack([gold_RS, *found_3RS], axis=-1)


def _f1(correct: int, spans: int) -> float:
    return 2 * correct / spans if spans else 0.0
