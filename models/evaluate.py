"""How well a network does on a split. L tags of the split."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.arrays import Ids, Numbers
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

    These, one a lane, are what ``measure``, by which trials are ranked, is made of. ``sentences_RSC``: what it counts
    of each sentence (``data.tasks.measure.Measure.sentences``).
    """

    measure: Measure
    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]
    counts: tuple[Counts, ...]
    sentences_RSC: Numbers

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
    predicted_RL = np.empty((lanes, len(chosen.tags_L)), dtype=np.int64)
    heads_RL = None if chosen.heads_N is None else np.empty_like(predicted_RL)
    nats_RL = np.empty_like(predicted_RL, dtype=np.float64) if task.continues else None
    for batch in evaluated(corpus, split):
        tokens, gold = on_device(batch, lanes, device, memory)
        losses_RUB, decoded = model.measure(tokens, gold, lexicon)
        predicted_RUB = decoded.tags_RUB.cpu().numpy()
        correct_R += correct_tags(predicted_RUB, batch.tags_RUB, batch.tag_counts_RB)
        put_back(predicted_RUB, batch, predicted_RL)
        if heads_RL is not None:
            assert decoded.heads_RTB is not None, "only a parser is built for a corpus of trees"
            put_back(decoded.heads_RTB.cpu().numpy(), batch, heads_RL)
        if nats_RL is not None:
            put_back(losses_RUB.cpu().numpy(), batch, nats_RL)
        loss_R += losses_RUB.sum(dim=1).sum(dim=1)
        total += int(batch.tag_counts_RB.sum())
    predicted = Predicted(
        correct=tuple(correct_R.tolist()),
        total=total,
        loss=tuple((loss_R / total).tolist()),
        tags_RL=predicted_RL,
        heads_RN=heads_RL,
        nats_RL=nats_RL,
    )
    measure = task.measure(corpus.scheme)
    sentences_RSC = measure.sentences(predicted, corpus, split)
    return Evaluation(
        correct=predicted.correct,
        total=total,
        loss=predicted.loss,
        measure=measure,
        counts=measure.counts(predicted, sentences_RSC.sum(axis=1)),
        sentences_RSC=sentences_RSC,
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
