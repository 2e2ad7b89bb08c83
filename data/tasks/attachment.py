"""How well predicted dependency trees are attached. Array legend: R lanes, N words of a split."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class AttachmentCounts:
    """Of ``words``, those with the right head (``attached``), and with the right head and relation (``labelled``).

    All words count, punctuation included, and a relation is right as a whole, its subtype included: ``nsubj`` is not
    ``nsubj:pass``. (The shared tasks of CoNLL 2006 and 2007 count so; that of 2018 passes over subtypes.)
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


def count_attachments(
    heads_RN: Ids, relations_RN: Ids, gold_heads_N: Ids, gold_relations_N: Ids
) -> tuple[AttachmentCounts, ...]:
    """How the predicted trees of each lane agree with the gold ones.

    A relation of -1 (train does not have it) is wrong, even where -1 is predicted.
    """
    attached_RN = heads_RN == gold_heads_N
    labelled_RN = attached_RN & (relations_RN == gold_relations_N) & (gold_relations_N >= 0)
    counts = zip(attached_RN.sum(axis=1).tolist(), labelled_RN.sum(axis=1).tolist(), strict=True)
    return tuple(AttachmentCounts(len(gold_heads_N), attached, labelled) for attached, labelled in counts)
