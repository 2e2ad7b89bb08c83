"""How well a network does on a split. N tags of the split."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from skipstack.data.labels.spans import SpanCounts
from skipstack.data.store.batches import Batch, Ids, evaluation_batches, put_back
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.streams import stream_batches
from skipstack.data.tasks.attachment import AttachmentCounts
from skipstack.data.tasks.metrics import accuracy, correct_tags
from skipstack.data.tasks.scoring import attachment_counts, span_counts
from skipstack.models.heads.base import Gold
from skipstack.models.inputs.base import LexiconTensors
from skipstack.models.model import Network, Tokens
from skipstack.models.stack import Memory

SENTENCES_AT_ONCE = 64
"""A matter of speed alone."""

STREAMS, STREAM_WINDOW = 10, 50
"""At how many places running text is read side by side, and how far at once: each place but the first begins without
what stands before it, which is a word in some thousands."""

LARGEST_LOSS = 700.0
"""Beyond it there is no floating point number for the perplexity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What the lanes reach on a split: right tags of ``total``, and the mean of the loss a tag.

    Counts of each lane: ``spans``, empty where the tags have no scheme; ``attachments``, empty where nothing is parsed.
    ``running``: whether it is running text that is predicted.
    """

    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]
    spans: tuple[SpanCounts, ...] = ()
    attachments: tuple[AttachmentCounts, ...] = ()
    running: bool = False

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of right tags, in [0, 1]."""
        return tuple(accuracy(correct, self.total) for correct in self.correct)

    @property
    def perplexity(self) -> tuple[float, ...]:
        """The exponential of the loss of a tag; infinite where no number holds it."""
        return tuple(math.exp(loss) if loss < LARGEST_LOSS else math.inf for loss in self.loss)

    @property
    def score(self) -> tuple[float, ...]:
        """What trials are ranked by: LAS of trees, F1 where the tags have a scheme, accuracy where not, in [0, 1].

        Of running text it is the negative perplexity.
        """
        if self.running:
            return tuple(-value for value in self.perplexity)
        las = tuple(counts.las for counts in self.attachments)
        return las or tuple(counts.f1 for counts in self.spans) or self.accuracy


@torch.no_grad()
def evaluate(model: Network, corpus: StoredCorpus, split: str, lexicon: LexiconTensors, lanes: int) -> Evaluation:
    """Every lane on the same sentences; a gold tag that training never showed counts as an error."""
    model.eval()
    running = corpus.task == "language_modelling"
    memory = Memory() if running else None
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
        if not running:
            put_back(predicted_RUB, batch, chosen, predicted_RN)
        if heads_RN is not None:
            assert decoded.heads_RTB is not None, "only a parser is built for a corpus of trees"
            put_back(decoded.heads_RTB.cpu().numpy(), batch, chosen, heads_RN)
        loss_R += loss_RB.sum(dim=1)
        total += int(batch.tag_counts_RB.sum())
    return Evaluation(
        correct=tuple(correct_R.tolist()),
        total=total,
        loss=tuple((loss_R / total).tolist()),
        spans=span_counts(predicted_RN, corpus, split),
        attachments=attachment_counts(heads_RN, predicted_RN, corpus, split),
        running=running,
    )


def evaluated(corpus: StoredCorpus, split: str) -> Iterator[Batch]:
    """What an evaluation reads: all sentences of a split, or its running text."""
    chosen = corpus.splits[split]
    if corpus.task == "language_modelling":
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
