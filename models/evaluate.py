"""How well a network does on a split. Shapes: R lanes, U tags of a sentence, B sentences, L tags of the split."""

from dataclasses import dataclass

import numpy as np
import torch

from data.batches import Batch, evaluation_batches, put_back
from data.metrics import accuracy, correct_tags
from data.scoring import span_counts
from data.spans import SpanCounts
from data.store import StoredCorpus
from models.embedder import LexiconTensors
from models.model import Gold, Network, Tokens

SENTENCES_AT_ONCE = 64
"""A matter of speed alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What the lanes reach on a split: right tags of ``total``, and the mean of the loss a tag.

    ``spans``: counts of each lane; empty where the tags have no scheme.
    """

    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]
    spans: tuple[SpanCounts, ...] = ()

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of right tags, in [0, 1]."""
        return tuple(accuracy(correct, self.total) for correct in self.correct)

    @property
    def score(self) -> tuple[float, ...]:
        """What trials are ranked by, in [0, 1]: F1 where the tags have a scheme, accuracy where not."""
        return tuple(counts.f1 for counts in self.spans) or self.accuracy


@torch.no_grad()
def evaluate(model: Network, corpus: StoredCorpus, split: str, lexicon: LexiconTensors, lanes: int) -> Evaluation:
    """Every lane on the same sentences; a gold tag that training never showed counts as an error."""
    model.eval()
    chosen = corpus.splits[split]
    device = lexicon.word_F.device
    correct_R = np.zeros(lanes, dtype=np.int64)
    loss_R = torch.zeros(lanes, dtype=torch.float64, device=device)
    total = 0
    predicted_RL = np.empty((lanes, len(chosen.tags_L)), dtype=np.int64)
    for batch in evaluation_batches(chosen, batch_size=SENTENCES_AT_ONCE):
        tokens, gold = on_device(batch, lanes, device)
        loss_RB, decoded = model.measure(tokens, gold, lexicon)
        predicted_RUB = decoded.tags_RUB.cpu().numpy()
        correct_R += correct_tags(predicted_RUB, batch.tags_RUB, batch.tag_counts_RB)
        put_back(predicted_RUB, batch, chosen, predicted_RL)
        loss_R += loss_RB.sum(dim=1)
        total += int(batch.tag_counts_RB.sum())
    return Evaluation(
        correct=tuple(correct_R.tolist()),
        total=total,
        loss=tuple((loss_R / total).tolist()),
        spans=span_counts(predicted_RL, corpus, split),
    )


def on_device(batch: Batch, lanes: int, device: torch.device) -> tuple[Tokens, Gold]:
    """``batch`` as tensors, read and right; one that all lanes share is read by each without a copy."""
    arrays = (batch.forms_RTB, batch.lengths_RB, batch.tags_RUB)
    forms, lengths, tags = (torch.as_tensor(array, device=device).expand(lanes, *array.shape[1:]) for array in arrays)
    return Tokens(forms, lengths), Gold(tags)
