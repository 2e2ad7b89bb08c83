"""What turns tokens into numbers, and what is known of every form."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from skipstack.data.store.features import Lexicon
from skipstack.models.inputs.lookup import Lookup


@dataclass(frozen=True, slots=True)
class LexiconTensors:
    """The lexical features of every form (``data/store/features.py``, which binds the letters), on the device."""

    word_F: Tensor
    capital_F: Tensor
    prefix_FA: Tensor
    suffix_FA: Tensor
    spelling_FC: Tensor

    @classmethod
    def on(cls, device: torch.device, lexicon: Lexicon) -> "LexiconTensors":
        """The features of ``lexicon``, copied to ``device``."""
        arrays = (lexicon.word_F, lexicon.capital_F, lexicon.prefix_FA, lexicon.suffix_FA, lexicon.spelling_FC)
        return cls(*(torch.as_tensor(array, device=device) for array in arrays))


class Embedder(nn.Module, ABC):
    """The input of a network: what the stack reads of each token."""

    words: Lookup | None
    """The vectors of words; None where it has none."""

    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """What becomes of pretrained ones in training."""

    @abstractmethod
    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors) -> Tensor:
        """x_RTBI from form ids."""
