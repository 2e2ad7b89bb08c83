"""Accuracy: the share of correct tags.

Array legend: R lanes (a lane is one seed's copy of the network), S sentences of a split, L tags of a split, C counts, x
any axes, U tags of a sentence, B sentences of a batch. Gold tags may have a single lane, with which all lanes of the
predictions are compared.
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
    """The number of ``correct`` tags among ``total`` tags."""

    correct: int
    total: int

    @property
    def value(self) -> float:
        """The accuracy."""
        return accuracy(self.correct, self.total)

    def curves(self) -> dict[str, float]:
        """The accuracy, by its name."""
        return {Accuracy.name: self.value}

    def recorded(self) -> dict[str, int | float]:
        """An empty dict, since every bundle's metrics have ``correct`` and ``total`` anyway."""
        return {}


@final
@dataclass(frozen=True)
class Accuracy(Measure):
    """The measure of tags that are scored one by one."""

    name = "accuracy"
    label = "accuracy"
    unit = "%"
    counted = ("correct", "tags")
    counts_of_lane = TagCounts

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Count the correct tags and all tags of each sentence: counts_RSC."""
        chosen = corpus.splits[split]
        right_RL = (predicted.tags_RL == chosen.tags_L) & (chosen.tags_L >= 0)
        correct_RS = by_sentence(right_RL.astype(np.int64), chosen.tag_offsets_S1[:-1])
        return np.stack(np.broadcast_arrays(correct_RS, np.diff(chosen.tag_offsets_S1)), axis=-1)

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The share of correct tags, value_x; 0 without tags."""
        return share(counts_xC[..., 0], counts_xC[..., 1])


def correct_tags(predicted_RUB: Ids, tags_RUB: Ids, counts_RB: Ids) -> Ids:
    """Count the correct tags of each lane: correct_R.

    ``predicted_RUB``: the predicted tags. ``tags_RUB``: the gold tags. A gold tag of -1 stands for a tag that the
    training split lacks. No prediction is correct there, not even -1. ``counts_RB``: the number of tags of each
    sentence. The padding after these tags is ignored.
    """
    inside_RUB = np.arange(tags_RUB.shape[1])[:, None] < counts_RB[:, None, :]
    right_RUB = inside_RUB & (tags_RUB >= 0) & (predicted_RUB == tags_RUB)
    correct_R: Ids = right_RUB.sum(axis=(1, 2), dtype=np.int64)
    return correct_R


def accuracy(correct: int, total: int) -> float:
    """The share of correct tags, ``correct`` / ``total``, in [0, 1]. Raises ValueError for a total of 0."""
    if total <= 0:
        raise ValueError(f"accuracy needs tags: got {total}, allowed 1 or more")
    return correct / total
