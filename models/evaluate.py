"""How well a network does on a split. Shapes: R lanes, T time, B sentences."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from data.batches import Batch, evaluation_batches
from data.metrics import accuracy, correct_tokens
from data.store import Split
from models.embedder import LexiconTensors
from models.model import Network, Tokens

SENTENCES_AT_ONCE = 64
"""A matter of speed alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What the lanes reach on a split: right tokens of ``total``, and the mean of the head's loss a token."""

    correct: tuple[int, ...]
    total: int
    loss: tuple[float, ...]

    @property
    def accuracy(self) -> tuple[float, ...]:
        """The share of right tokens, in [0, 1]."""
        return tuple(accuracy(correct, self.total) for correct in self.correct)


@torch.no_grad()
def evaluate(model: Network, split: Split, lexicon: LexiconTensors, lanes: int) -> Evaluation:
    """Every lane on the same sentences; a gold tag that training never showed counts as an error."""
    model.eval()
    device = lexicon.word_F.device
    correct_R = np.zeros(lanes, dtype=np.int64)
    loss_R = torch.zeros(lanes, dtype=torch.float64, device=device)
    total = 0
    for batch in evaluation_batches(split, batch_size=SENTENCES_AT_ONCE):
        tokens, tags_RTB = on_device(batch, lanes, device)
        loss_RB, predicted_RTB = model.measure(tokens, tags_RTB, lexicon)
        correct_R += correct_tokens(predicted_RTB.cpu().numpy(), batch.tags_RTB, batch.lengths_RB)
        loss_R += loss_RB.sum(dim=1)
        total += int(batch.lengths_RB.sum())
    return Evaluation(correct=tuple(correct_R.tolist()), total=total, loss=tuple((loss_R / total).tolist()))


def on_device(batch: Batch, lanes: int, device: torch.device) -> tuple[Tokens, Tensor]:
    """``batch`` as tensors, and its tags_RTB; one that all lanes share is read by each without a copy."""
    arrays = (batch.forms_RTB, batch.lengths_RB, batch.tags_RTB)
    forms, lengths, tags = (torch.as_tensor(array, device=device).expand(lanes, *array.shape[1:]) for array in arrays)
    return Tokens(forms, lengths), tags
