"""What a network is: it reads tokens and gives each, or the whole text, a tag.

Shapes: R lanes, T time, U tags of a sentence (T, or 1 where texts are classified), B sentences, F features.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from skipstack.models.config import Pooling
from skipstack.models.heads.base import Head
from skipstack.models.heads.pooling import pooled
from skipstack.models.inputs.feature_maps import FeatureMapEmbedder
from skipstack.models.inputs.one_hot import OneHotEmbedder
from skipstack.models.inputs.tokens import Embedder, LexiconTensors
from skipstack.models.skips.reinforce import Reinforce
from skipstack.models.stack import Memory, Passed, Stack

AnyInput = Embedder | FeatureMapEmbedder | OneHotEmbedder
"""What turns tokens into numbers."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sentences as form ids; lanes may read different ones. Padding is form 0, at the end.

    Texts that go on from batch to batch come with a ``memory``.
    """

    forms_RTB: Tensor
    lengths_RB: Tensor
    memory: Memory | None = None


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

    def right(self, gold: Gold) -> Tensor:
        """Where the decision is the right one, head and all: right_RUB; never at padding, nor where gold has no tag."""
        right_RUB = (self.tags_RUB == gold.tags_RUB) & (gold.tags_RUB >= 0)
        if self.heads_RTB is None or gold.heads_RTB is None:
            return right_RUB
        return right_RUB & (self.heads_RTB == gold.heads_RTB)


class Network(nn.Module, ABC):
    """Reads tokens, decides on their tags."""

    def __init__(self, embedder: AnyInput) -> None:
        super().__init__()
        self.embedder = embedder

    def begin(self, epoch: int) -> None:
        """An epoch of training begins; they count from 0."""

    @abstractmethod
    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """The loss of each sentence, summed over its tags, to be learnt from: loss_RB."""

    @abstractmethod
    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """The network's decisions."""

    @abstractmethod
    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """The loss_RB of what the network does by itself, and what ``decode`` gives, from one reading."""


class Stacked(Network):
    """Embedder, stack and a head above them: features of all tokens first, then what is decided from these.

    Where layers choose what they read, ``reinforce`` says what they learn from.
    """

    def __init__(self, embedder: AnyInput, stack: Stack, reinforce: Reinforce | None) -> None:
        super().__init__(embedder)
        self.stack = stack
        self.reinforce = reinforce

    @abstractmethod
    def _loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """The head's loss of each sentence: loss_RB."""

    @abstractmethod
    def _decide(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """The head's decisions."""

    @abstractmethod
    def decision_loss(self, features_RUBF: Tensor, counts_RB: Tensor, place_RB: Tensor) -> Tensor:
        """The loss of what the network decides at one place of each sentence, and there alone: loss_RB."""

    def features(self, tokens: Tokens, lexicon: LexiconTensors, passed: list[Passed] | None = None) -> Tensor:
        """What the stack makes of the tokens: features_RTBF; what passes through it comes to the end of ``passed``."""
        x_RTBI = self.embedder(tokens.forms_RTB, lexicon)
        features_RTBF: Tensor = self.stack(x_RTBI, tokens.lengths_RB, passed, tokens.memory)
        return features_RTBF

    def read(
        self, tokens: Tokens, lexicon: LexiconTensors, passed: list[Passed] | None = None
    ) -> tuple[Tensor, Tensor]:
        """What the head reads, and how much of it: features_RUBF and counts_RB."""
        return self.features(tokens, lexicon, passed), tokens.lengths_RB

    def begin(self, epoch: int) -> None:
        """A policy may explore less with every epoch."""
        if self.reinforce is not None:
            self.reinforce.epoch = epoch

    def loss(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> Tensor:
        """The head's loss of each sentence: loss_RB.

        Where layers choose, its gradient is that of J_1 - J_2 (gui2019 eq. 6), J_1 the loss and J_2 what
        ``models/skips/reinforce.py`` makes larger.
        """
        passed: list[Passed] = []
        features_RUBF, counts_RB = self.read(tokens, lexicon, passed)
        loss_RB = self._loss(features_RUBF, gold, counts_RB)
        if self.reinforce is None:
            return loss_RB
        reward_RB = self._reward(features_RUBF, gold, counts_RB, loss_RB)
        made = [each.unrolled.choices for each in passed if each.unrolled.choices is not None]
        objective_RB: Tensor = self.reinforce(made, reward_RB, tokens.lengths_RB)
        return loss_RB - (objective_RB - objective_RB.detach())

    @torch.no_grad()
    def _reward(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor, loss_RB: Tensor) -> Tensor:
        assert self.reinforce is not None
        if self.reinforce.config.reward == "log_likelihood":
            return -loss_RB
        right_RUB = self._decide(features_RUBF, counts_RB).right(gold)
        reward_RB: Tensor = 2 * right_RUB.sum(dim=1).to(loss_RB) / counts_RB.clamp(min=1) - 1
        return reward_RB

    def decode(self, tokens: Tokens, lexicon: LexiconTensors) -> Decoded:
        """The head's decisions."""
        return self._decide(*self.read(tokens, lexicon))

    def measure(self, tokens: Tokens, gold: Gold, lexicon: LexiconTensors) -> tuple[Tensor, Decoded]:
        """The head's loss_RB and decisions on the same features."""
        features_RUBF, counts_RB = self.read(tokens, lexicon)
        return self._loss(features_RUBF, gold, counts_RB), self._decide(features_RUBF, counts_RB)


class Tagger(Stacked):
    """Decides on tags.

    With a ``pooling``, the features become those of a text of one token, whose tag is that of the whole.
    """

    def __init__(
        self,
        embedder: AnyInput,
        stack: Stack,
        head: Head,
        *,
        pooling: Pooling | None = None,
        reinforce: Reinforce | None = None,
    ) -> None:
        super().__init__(embedder, stack, reinforce)
        self.head = head
        self.pooling = pooling

    def read(
        self, tokens: Tokens, lexicon: LexiconTensors, passed: list[Passed] | None = None
    ) -> tuple[Tensor, Tensor]:
        """What the head reads, and how much of it: features_RUBF and counts_RB, 1 where there is a ``pooling``."""
        features_RTBF, lengths_RB = super().read(tokens, lexicon, passed)
        if self.pooling is None:
            return features_RTBF, lengths_RB
        features_R1BF = pooled(features_RTBF, lengths_RB, self.stack.directions, self.pooling)
        return features_R1BF, torch.ones_like(lengths_RB)

    def _loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        return self.head.loss(features_RUBF, gold.tags_RUB, counts_RB)

    def _decide(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        return Decoded(self.head.decode(features_RUBF, counts_RB))

    def decision_loss(self, features_RUBF: Tensor, counts_RB: Tensor, place_RB: Tensor) -> Tensor:
        """That of a text of this one token: loss_RB."""
        at_R1BF = place_RB.unsqueeze(1).unsqueeze(-1).expand(-1, -1, -1, features_RUBF.shape[-1])
        feature_R1BF, one_RB = features_RUBF.gather(1, at_R1BF), torch.ones_like(counts_RB)
        return self.head.loss(feature_R1BF, self.head.decode(feature_R1BF, one_RB), one_RB)
