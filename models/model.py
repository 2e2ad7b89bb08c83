"""What a network is: it reads tokens and gives each, or the whole text, a tag.

Shapes: R lanes, T time, U tags of a sentence (T, or 1 where texts are classified), B sentences, F features.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.config import Pooling
from models.embedder import Embedder, LexiconTensors
from models.feature_maps import FeatureMapEmbedder
from models.heads.base import Head
from models.pooling import pooled
from models.stack import Stack


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sentences as form ids; lanes may read different ones. Padding is form 0, at the end."""

    forms_RTB: Tensor
    lengths_RB: Tensor


@dataclass(frozen=True, slots=True)
class Gold:
    """What is right, to be learnt: the tags, -1 at padding and where train does not have the tag.

    Where sentences are parsed tags are relations, and there are heads: 0 the root, w the w-th word, -1 at padding.
    """

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a network decides: the tags, and heads where it parses; what stands at padding means nothing."""

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None


class Network(nn.Module, ABC):
    """Reads tokens, decides on their tags."""

    def __init__(self, embedder: Embedder | FeatureMapEmbedder) -> None:
        super().__init__()
        self.embedder = embedder

    @abstractmethod
    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """The loss of each sentence, summed over its tags, to be learnt from: loss_RB."""

    @abstractmethod
    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """The network's decisions."""

    @abstractmethod
    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """The loss_RB of what the network does by itself, and what ``decode`` gives, from one reading."""


class Tagger(Network):
    """Embedder, stack and head: features of all tokens first, then their tags.

    With a ``pooling``, the features become those of a text of one token, whose tag is that of the whole.
    """

    def __init__(
        self, embedder: Embedder | FeatureMapEmbedder, stack: Stack, head: Head, pooling: Pooling | None = None
    ) -> None:
        super().__init__(embedder)
        self.stack = stack
        self.head = head
        self.pooling = pooling

    def features(self, tokens: Tokens, lexicon: LexiconTensors) -> Tensor:
        """What the stack makes of the tokens: features_RTBF."""
        features_RTBF: Tensor = self.stack(self.embedder(tokens.forms_RTB, lexicon), tokens.lengths_RB)
        return features_RTBF

    def _read(self, tokens: Tokens, lexicon: LexiconTensors) -> tuple[Tensor, Tensor]:
        """What the head reads, and how much of it: features_RUBF and counts_RB."""
        features_RTBF = self.features(tokens, lexicon)
        if self.pooling is None:
            return features_RTBF, tokens.lengths_RB
        features_R1BF = pooled(features_RTBF, tokens.lengths_RB, self.stack.directions, self.pooling)
        return features_R1BF, torch.ones_like(tokens.lengths_RB)

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """The head's loss of each sentence: loss_RB."""
        features_RUBF, counts_RB = self._read(tokens, lexicon)
        return self.head.loss(features_RUBF, gold.tags_RUB, counts_RB)

    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """The head's decisions."""
        return Decoded(self.head.decode(*self._read(tokens, lexicon)))

    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """The head's loss_RB and decisions on the same features."""
        features_RUBF, counts_RB = self._read(tokens, lexicon)
        loss_RB = self.head.loss(features_RUBF, gold.tags_RUB, counts_RB)
        return loss_RB, Decoded(self.head.decode(features_RUBF, counts_RB))
