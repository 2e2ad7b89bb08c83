"""How well a network does on a split. N tags of the split."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.arrays import Ids
from skipstack.data.store.batches import Batch, evaluation_batches, put_back
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.streams import stream_batches
from skipstack.data.tasks.accuracy import accuracy, correct_tags
from skipstack.data.tasks.measure import Counts, Measure, Predicted
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.heads.base import Gold
from skipstack.models.inputs.base import LexiconTensors
from skipstack.models.model import Network, Tokens
from skipstack.models.stack import Memory

SENTENCES_AT_ONCE = 64
"""A matter of speed alone."""

STREAMS, STREAM_WINDOW = 10, 50
"""At how many places running text is read side by side, and how far at once: each place but the first begins without
what stands before it, which is a word in some thousands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What the lanes reach on a split: right tags of ``total``, the mean of the loss a tag, and ``counts``.

    These, one a lane, are what ``measure``, by which trials are ranked, is made of.
    """

    measure: Measure
    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]
    counts: tuple[Counts, ...]

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of right tags, in [0, 1]."""
        return tuple(accuracy(correct, self.total) for correct in self.correct)

    @property
    def score(self) -> tuple[float, ...]:
        """What trials are ranked by, the larger the better."""
        return tuple(self.measure.score(counts.value) for counts in self.counts)

    @property
    def error(self) -> tuple[float, ...]:
        """What schedules compare, the smaller the better (``data.tasks.measure.Measure.error``)."""
        return tuple(self.measure.error(counts.value) for counts in self.counts)


@torch.no_grad()
def evaluate(model: Network, corpus: StoredCorpus, split: str, lexicon: LexiconTensors, lanes: int) -> Evaluation:
    """Every lane on the same sentences; a gold tag that training never showed counts as an error."""
    model.eval()
    task = TASKS[corpus.task]
    memory = Memory() if task.continues else None
    chosen = corpus.splits[split]
    device = lexicon.word_F.device
    correct_R = np.zeros(lanes, dtype=np.int64)
    loss_R = torch.zeros(lanes, dtype=torch.float64, device=device)
    total = 0
    predicted_RN = np.empty((lanes, len(chosen.tags_L)), dtype=np.int64)
    heads_RN = None if chosen.heads_N is None else np.empty_like(predicted_RN)
    for batch in evaluated(corpus, split):
        tokens, gold = on_device(batch, lanes, device, memory)
        loss_RB, decoded = model.measure(tokens, gold, lexicon)
        predicted_RUB = decoded.tags_RUB.cpu().numpy()
        correct_R += correct_tags(predicted_RUB, batch.tags_RUB, batch.tag_counts_RB)
        if not task.continues:
            put_back(predicted_RUB, batch, chosen, predicted_RN)
        if heads_RN is not None:
            assert decoded.heads_RTB is not None, "only a parser is built for a corpus of trees"
            put_back(decoded.heads_RTB.cpu().numpy(), batch, chosen, heads_RN)
        loss_R += loss_RB.sum(dim=1)
        total += int(batch.tag_counts_RB.sum())
    predicted = Predicted(
        correct=tuple(correct_R.tolist()),
        total=total,
        loss=tuple((loss_R / total).tolist()),
        tags_RL=None if task.continues else predicted_RN,
        heads_RN=heads_RN,
    )
    measure = task.measure(corpus.scheme)
    return Evaluation(
        correct=predicted.correct,
        total=total,
        loss=predicted.loss,
        measure=measure,
        counts=measure.counts(predicted, corpus, split),
    )


def evaluated(corpus: StoredCorpus, split: str) -> Iterator[Batch]:
    """What an evaluation reads: all sentences of a split, or its running text."""
    chosen = corpus.splits[split]
    if TASKS[corpus.task].continues:
        return stream_batches(chosen, streams=STREAMS, window=STREAM_WINDOW)
    return evaluation_batches(chosen, batch_size=SENTENCES_AT_ONCE)


def on_device(batch: Batch, lanes: int, device: torch.device, memory: Memory | None = None) -> tuple[Tokens, Gold]:
    """``batch`` as tensors, read and right; one that all lanes share is read by each without a copy.

    ``memory`` is what it goes on from.
    """

    def shared(array: Ids) -> Tensor:
        return torch.as_tensor(array, device=device).expand(lanes, *array.shape[1:])

    heads_RTB = None if batch.heads_RTB is None else shared(batch.heads_RTB)
    return Tokens(shared(batch.forms_RTB), shared(batch.lengths_RB), memory), Gold(shared(batch.tags_RUB), heads_RTB)
