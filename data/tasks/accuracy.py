"""The share of right tags.

Array legend: R lanes, S sentences of a split, L its tags, C counts, x any axes; U tags of a sentence, B sentence in the
batch. If the gold tags have one lane, it is shared by all.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, Numbers
from skipstack.data.tasks.measure import Counts, Measure, Predicted, by_sentence, share

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, slots=True)
class TagCounts(Counts):
    """The right tags of ``total``."""

    correct: int
    total: int

    @property
    def value(self) -> float:
        """The accuracy."""
        return accuracy(self.correct, self.total)

    def curves(self) -> dict[str, float]:
        """The accuracy alone."""
        return {Accuracy.name: self.value}

    def recorded(self) -> dict[str, int | float]:
        """Nothing: a bundle's metrics have both numbers already."""
        return {}


@final
@dataclass(frozen=True)
class Accuracy(Measure):
    """Tags one by one."""

    name = "accuracy"
    label = "accuracy"
    unit = "%"
    counted = ("correct", "tags")

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Right tags, and all tags."""
        chosen = corpus.splits[split]
        right_RL = (predicted.tags_RL == chosen.tags_L) & (chosen.tags_L >= 0)
        correct_RS = by_sentence(right_RL.astype(np.int64), chosen.tag_offsets_S1[:-1])
        return np.stack(np.broadcast_arrays(correct_RS, np.diff(chosen.tag_offsets_S1)), axis=-1)

    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """The sums."""
        return tuple(TagCounts(correct, total) for correct, total in counts_RC.tolist())

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The share of right tags; 0 without tags."""
        return share(counts_xC[..., 0], counts_xC[..., 1])


def correct_tags(predicted_RUB: Ids, tags_RUB: Ids, counts_RB: Ids) -> Ids:
    """The number of right tags in each lane, among the first ``counts_RB`` of each sentence.

    Padding is ignored. A tag of -1 (train lacks it) is never right, even if -1 is predicted.
    """
    inside_RUB = np.arange(tags_RUB.shape[1])[:, None] < counts_RB[:, None, :]
    right_RUB = inside_RUB & (tags_RUB >= 0) & (predicted_RUB == tags_RUB)
    correct_R: Ids = right_RUB.sum(axis=(1, 2), dtype=np.int64)
    return correct_R


def accuracy(correct: int, total: int) -> float:
    """The share of ``total`` that is ``correct``, in [0, 1]. Raises ValueError for a total of 0."""
    if total <= 0:
        raise ValueError(f"accuracy needs tags: got {total}, allowed 1 or more")
    return correct / total
