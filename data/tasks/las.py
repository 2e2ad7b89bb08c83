"""LAS, the labelled attachment score of dependency trees, with UAS.

Array legend: R lanes, N words of a split, S its sentences, C counts, x any axes.
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
    """The numbers of ``words``, of those with the right head (``attached``), and with the right head and relation
    (``labelled``).

    All words count, punctuation included, and a relation must be right with its subtype: ``nsubj`` is not
    ``nsubj:pass``. (The shared tasks of CoNLL 2006 and 2007 count so; that of 2018 ignores subtypes.)
    """

    words: int
    attached: int
    labelled: int

    @property
    def uas(self) -> float:
        """The unlabelled attachment score: the share of words with the right head, in [0, 1]; 0 without words."""
        return self.attached / self.words if self.words else 0.0

    @property
    def las(self) -> float:
        """The labelled attachment score: the share with the right head and relation, in [0, 1]; 0 without words."""
        return self.labelled / self.words if self.words else 0.0

    @property
    def value(self) -> float:
        """LAS."""
        return self.las

    def curves(self) -> dict[str, float]:
        """UAS and LAS."""
        return {"uas": self.uas, Las.name: self.las}

    def recorded(self) -> dict[str, int | float]:
        """The counts, without the number of words, which is that of tags."""
        return {"attached_words": self.attached, "labelled_words": self.labelled}


@final
@dataclass(frozen=True)
class Las(Measure):
    """Words with the right head and the right relation to it."""

    name = "las"
    label = "LAS"
    unit = "LAS"
    baseline = "most frequent arc of each word"
    keys = ("attached_words", "labelled_words")
    counted = tuple(field.name for field in fields(AttachmentCounts))

    def sentences(self, predicted: Predicted, corpus: "StoredCorpus", split: str) -> Numbers:
        """The trees of each lane, compared with the gold ones."""
        chosen = corpus.splits[split]
        assert chosen.heads_N is not None, "a corpus of trees has heads"
        assert predicted.heads_RN is not None, "what is parsed has heads"
        agreed_RNC = attachments(predicted.heads_RN, predicted.tags_RL, chosen.heads_N, chosen.tags_L)
        return by_sentence(agreed_RNC, chosen.offsets_S1[:-1])

    def counts(self, predicted: Predicted, counts_RC: Numbers) -> tuple[Counts, ...]:
        """The sums."""
        return tuple(AttachmentCounts(*counts) for counts in counts_RC.tolist())

    def of_counts(self, counts_xC: Numbers) -> NDArray[np.float64]:
        """The share of words with the right head and relation; 0 without words."""
        words_x, _, labelled_x = np.moveaxis(counts_xC, -1, 0)
        return share(labelled_x, words_x)

    def described(self, metrics: Mapping[str, float]) -> str:
        """Heads, and arcs."""
        arcs = attachment_counts(metrics)
        return (
            f"{arcs.attached} of {arcs.words} words have the right head (UAS {arcs.uas:.2%}), "
            f"{arcs.labelled} the right relation to it (LAS {arcs.las:.2%})"
        )


def attachment_counts(metrics: Mapping[str, float]) -> AttachmentCounts:
    """The counts of arcs in a bundle's metrics of a split: the inverse of ``AttachmentCounts.recorded``."""
    return AttachmentCounts(*(int(metrics[key]) for key in ("total", *Las.keys)))


def attachments(heads_RN: Ids, relations_RN: Ids, gold_heads_N: Ids, gold_relations_N: Ids) -> Ids:
    """Compares the predicted trees of each lane with the gold ones, word by word: counts_RNC of 0 and 1, in the order
    of ``AttachmentCounts``.

    A relation of -1 (train lacks it) is wrong, even if -1 is predicted.
    """
    attached_RN = heads_RN == gold_heads_N
    labelled_RN = attached_RN & (relations_RN == gold_relations_N) & (gold_relations_N >= 0)
    return np.stack([np.ones_like(attached_RN), attached_RN, labelled_RN], axis=-1).astype(np.int64)
