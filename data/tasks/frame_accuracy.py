"""Frame accuracy: the share of sentences of which all slots and the intent are right.

Array legend: R lanes (a lane is one seed's copy of the network), S sentences of a split, L tags of a split, C counts, x
any axes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Numbers
from skipstack.data.tasks.f1 import F1, SpanCounts, found_spans
from skipstack.data.tasks.measure import Counts, Measure, Predicted, share

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, slots=True)
class FrameCounts(Counts):
    """The counts of one lane's predictions of slots and intents.

    ``sentences``: all sentences. ``frames``: sentences with the right intent of which all slots are right and no other
    is predicted. ``intents``: sentences with the right intent. The four counts of slots are those of ``SpanCounts``.
    """

    sentences: int
    frames: int
    intents: int
    gold_slots: int
    predicted_slots: int
    correct_slots: int
    segmented_slots: int

    @property
    def value(self) -> float:
        """Frame accuracy, in [0, 1]: the share of sentences of which all slots and the intent are right."""
        return self.frames / self.sentences

    @property
    def slots(self) -> SpanCounts:
        """The counts of slots, which have an F1."""
        return SpanCounts(self.gold_slots, self.predicted_slots, self.correct_slots, self.segmented_slots)

    def curves(self) -> dict[str, float]:
        """Frame accuracy and intent accuracy, and the F1 of slots with its parts, by name."""
        intents = self.intents / self.sentences
        return {FrameAccuracy.name: self.value, "intent_accuracy": intents, **self.slots.curves()}

    def recorded(self) -> dict[str, int | float]:
        """The counts, by names such as ``right_frames`` and ``correct_spans``."""
        of_sentences = {"sentences": self.sentences, "right_frames": self.frames, "right_intents": self.intents}
        return {**of_sentences, **self.slots.recorded()}


@final
@dataclass(frozen=True)
class FrameAccuracy(Measure):
    """The measure of slots and intents. A sentence is right if its intent is right, and if the predicted slots are
    exactly the gold slots, with their types.
    """

    name = "frame_accuracy"
    label = "frame accuracy"
    unit = "%"
    counted = tuple(field.name for field in fields(FrameCounts))
    counts_of_lane = FrameCounts

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Compute the ``FrameCounts`` of each sentence in each lane: counts_RSC. What is predicted for the token at the
        end of a sentence counts as its intent, and never as part of a slot.
        """
        chosen = corpus.splits[split]
        ends_S = chosen.offsets_S1[1:] - 1
        gold_S, intents_RS = chosen.tags_L[ends_S], predicted.tags_RL[:, ends_S]
        right_RS = (intents_RS == gold_S) & (gold_S >= 0)
        slots_RL = predicted.tags_RL.copy()
        slots_RL[:, ends_S] = -1
        spans_RSC = F1().sentences(replace(predicted, tags_RL=slots_RL), corpus, split)
        gold_RS, found_RS, correct_RS, _ = np.moveaxis(spans_RSC, -1, 0)
        frames_RS = right_RS & (correct_RS == gold_RS) & (correct_RS == found_RS)
        of_sentences = np.stack([np.ones_like(gold_RS), frames_RS, right_RS], axis=-1)
        return np.concatenate([of_sentences, spans_RSC], axis=-1)

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The share of right sentences, value_x."""
        return share(counts_xC[..., 1], counts_xC[..., 0])

    def described(self, metrics: Mapping[str, float]) -> str:
        """The numbers of right sentences, of right intents and of correct slots, in words."""
        sentences, frames, intents = (metrics[key] for key in ("sentences", "right_frames", "right_intents"))
        return (
            f"{frames} of {sentences} sentences have the right slots and intent (frame accuracy "
            f"{frames / sentences:.2%}), {intents} the right intent ({intents / sentences:.2%}), "
            f"{found_spans(metrics, 'slots')}"
        )
