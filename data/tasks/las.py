"""LAS, the labelled attachment score of dependency trees, and UAS, the unlabelled one.

Array legend: R lanes (a lane is one seed's copy of the network), N words of a split, S sentences of a split, C counts,
x any axes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, Numbers
from skipstack.data.tasks.measure import Counts, Measure, Predicted, by_sentence, share

if TYPE_CHECKING:
    from skipstack.data.store.stored import StoredCorpus


@dataclass(frozen=True, slots=True)
class AttachmentCounts(Counts):
    """The counts from which LAS and UAS are computed.

    ``words``: all words. ``attached``: words whose predicted head is right. ``labelled``: words whose predicted head
    and relation are both right.

    Punctuation counts, as in the shared task of CoNLL 2007. A relation must be right with its subtype: ``nsubj`` is not
    ``nsubj:pass``. (The shared task of 2018 ignores subtypes.)
    """

    words: int
    attached: int
    labelled: int

    @property
    def uas(self) -> float:
        """UAS, in [0, 1]: the share of words with the right head; 0 without words."""
        return self.attached / self.words if self.words else 0.0

    @property
    def value(self) -> float:
        """LAS, in [0, 1]: the share of words with the right head and relation; 0 without words."""
        return self.labelled / self.words if self.words else 0.0

    def curves(self) -> dict[str, float]:
        """UAS and LAS, by name."""
        return {"uas": self.uas, Las.name: self.value}

    def recorded(self) -> dict[str, int | float]:
        """The counts except ``words``. A bundle's metrics have that number as ``total``."""
        return {"attached_words": self.attached, "labelled_words": self.labelled}


@final
@dataclass(frozen=True)
class Las(Measure):
    """The measure of dependency trees. A word is right if its head and its relation to the head are both right."""

    name = "las"
    label = "LAS"
    unit = "LAS"
    keys = ("attached_words", "labelled_words")
    """The names of the numbers that ``AttachmentCounts.recorded`` returns."""
    counted = tuple(field.name for field in fields(AttachmentCounts))
    counts_of_lane = AttachmentCounts

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """Compute the ``AttachmentCounts`` of each sentence in each lane: counts_RSC."""
        chosen = corpus.splits[split]
        assert chosen.heads_N is not None, "a corpus of trees has heads"
        assert predicted.heads_RN is not None, "what is parsed has heads"
        agreed_RNC = attachments(predicted.heads_RN, predicted.tags_RL, chosen.heads_N, chosen.tags_L)
        return by_sentence(agreed_RNC, chosen.offsets_S1[:-1])

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The share of words with the right head and relation, value_x; 0 without words."""
        words_x, _, labelled_x = np.moveaxis(counts_xC, -1, 0)
        return share(labelled_x, words_x)

    def described(self, metrics: Mapping[str, float]) -> str:
        """The numbers of right heads, and of right heads with the right relation, in words."""
        arcs = attachment_counts(metrics)
        return (
            f"{arcs.attached} of {arcs.words} words have the right head (UAS {arcs.uas:.2%}), "
            f"{arcs.labelled} the right relation to it (LAS {arcs.value:.2%})"
        )


def attachment_counts(metrics: Mapping[str, float]) -> AttachmentCounts:
    """Read the counts from a bundle's metrics of a split: the inverse of ``AttachmentCounts.recorded``."""
    return AttachmentCounts(*(int(metrics[key]) for key in ("total", *Las.keys)))


def attachments(heads_RN: Ids, relations_RN: Ids, gold_heads_N: Ids, gold_relations_N: Ids) -> Ids:
    """Compare the trees of each lane with the gold trees, word by word: agreed_RNC.

    An entry is 0 or 1, and the last axis has the order of ``AttachmentCounts``. ``heads_RN`` and ``relations_RN``: the
    predicted head of each word, and the relation to it. ``gold_heads_N`` and ``gold_relations_N``: the gold ones. A
    gold relation of -1 stands for a relation that the training split lacks. No prediction is right there, not even -1.
    """
    attached_RN = heads_RN == gold_heads_N
    labelled_RN = attached_RN & (relations_RN == gold_relations_N) & (gold_relations_N >= 0)
    return np.stack([np.ones_like(attached_RN), attached_RN, labelled_RN], axis=-1).astype(np.int64)
