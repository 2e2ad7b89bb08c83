"""How well a network does on a split. Shapes: R lanes, T time, B sentences, N tokens of the split."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from data.batches import Batch, evaluation_batches, put_back
from data.metrics import accuracy, correct_tokens
from data.scoring import span_counts
from data.spans import SpanCounts
from data.store import StoredCorpus
from models.embedder import LexiconTensors
from models.model import Network, Tokens

SENTENCES_AT_ONCE = 64
"""A matter of speed alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What the lanes reach on a split: right tokens of ``total``, and the mean of the head's loss a token.

    ``spans``: counts of each lane; empty where the tags have no scheme.
    """

    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]
    spans: tuple[SpanCounts, ...] = ()

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of right tokens, in [0, 1]."""
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
    predicted_RN = np.empty((lanes, len(chosen.tags_N)), dtype=np.int64)
    for batch in evaluation_batches(chosen, batch_size=SENTENCES_AT_ONCE):
        tokens, tags_RTB = on_device(batch, lanes, device)
        loss_RB, decoded_RTB = model.measure(tokens, tags_RTB, lexicon)
        predicted_RTB = decoded_RTB.cpu().numpy()
        correct_R += correct_tokens(predicted_RTB, batch.tags_RTB, batch.lengths_RB)
        put_back(predicted_RTB, batch, chosen, predicted_RN)
        loss_R += loss_RB.sum(dim=1)
        total += int(batch.lengths_RB.sum())
    return Evaluation(
        correct=tuple(correct_R.tolist()),
        total=total,
        loss=tuple((loss_R / total).tolist()),
        spans=span_counts(predicted_RN, corpus, split),
    )


def on_device(batch: Batch, lanes: int, device: torch.device) -> tuple[Tokens, Tensor]:
    """``batch`` as tensors, and its tags_RTB; one that all lanes share is read by each without a copy."""
    arrays = (batch.forms_RTB, batch.lengths_RB, batch.tags_RTB)
    forms, lengths, tags = (torch.as_tensor(array, device=device).expand(lanes, *array.shape[1:]) for array in arrays)
    return Tokens(forms, lengths), tags
