"""Two classes: ``Embedder`` computes the features of tokens, ``LexiconTensors`` holds the lexical features of forms.

A form is a word as written. Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, I features
of a token, F forms, A affix characters, C characters of the longest form.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from skipstack.data.basis.arrays import Ids
from skipstack.data.basis.user_code.configs import Part
from skipstack.data.store.features import Lexicon
from skipstack.data.store.vocabulary import BOUNDARY
from skipstack.models.layers.lookup import Distinct, DistinctForms, Lookup


@dataclass(frozen=True, slots=True)
class LexiconTensors:
    """The lexical features of all forms (words as written) on the device. Row f belongs to the form with the id f.

    ``word_F``: ids of words. ``capital_F``: classes of capitalisation. ``prefix_FA``, ``suffix_FA``: ids of the
    characters at the start and at the end, outermost first. ``spelling_FC``: ids of all characters. ``class_F``: ids of
    the word classes, for embedders that read classes in addition to words (``data/store/features.py``).
    """

    word_F: Tensor
    capital_F: Tensor
    prefix_FA: Tensor
    suffix_FA: Tensor
    spelling_FC: Tensor
    class_F: Tensor
    lengths_F: Ids | None = None
    """The number of characters of each form, at least 1, as an array on the host. None means unknown."""

    @classmethod
    def on(cls, device: torch.device, lexicon: Lexicon) -> "LexiconTensors":
        """Copies the features of ``lexicon`` to ``device``."""
        tensors = {each.name: torch.as_tensor(getattr(lexicon, each.name), device=device) for each in fields(lexicon)}
        return cls(**tensors, lengths_F=(lexicon.spelling_FC != BOUNDARY).sum(axis=1).clip(min=1))


class Embedder(nn.Module, ABC):
    """The input of a network: computes the features of tokens, which the stack reads."""

    part: ClassVar[Part] = "embedder"

    words: Lookup | None
    """The table of word vectors; None if the embedder has none."""

    word_vectors: Literal["trainable", "frozen"] = "trainable"
    """Whether pretrained word vectors are trained further."""

    reads_vectors: bool = False
    """Whether the embedder reads a vector for each token, as a fourth argument of ``forward``."""

    @abstractmethod
    def forward(self, forms_RTB: Tensor, lexicon: LexiconTensors, distinct: Distinct | None = None) -> Tensor:
        """Computes the features of tokens from the ids of forms: x_RTBI. ``distinct``: the distinct forms, if known."""

    def distinct(self, forms_RTB: Ids, lexicon: LexiconTensors) -> DistinctForms | None:
        """Returns the distinct forms of a batch if the embedder computes features once per form; by default None."""
        return None
