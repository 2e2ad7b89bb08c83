"""What a head is: from the features of tokens to what a network decides."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from skipstack.data.basis.own_code import Part
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.products import product
from skipstack.models.parts.heads.chain.doubts import Doubts

UNSEEN = -1
"""The id of a gold tag that the training split does not have: never predicted, never learned from."""


Places = tuple[Tensor, Tensor]
"""Some sentences of a batch: lane_N and sentence_N of each."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What is right, to be learnt: the tags, -1 at padding and where train does not have the tag.

    Where sentences are parsed tags are relations, and there are heads: 0 the root, w the w-th word, -1 at padding.
    """

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None
    open: Places | None = None
    """The sentences that have a tag which train does not have; None: they are found in the tags."""
    counted_R: Tensor | None = None
    """How many tags there are, those among them."""


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


class Head(nn.Module, ABC):
    """The output layer of a network: decides from the features of the tokens of each sentence, or of a whole text as
    of one token.
    """

    part: ClassVar[Part] = "head"

    together = False
    """Whether the lanes are an ensemble: they decide as one, which is then the only lane of counts, losses and
    decisions."""

    def averaged_scores(self, scores_R: Tensor) -> Tensor:
        """The mean over lanes that decide together, as one lane: of a chain, of arcs and their relations.

        The score of a whole tagging, or tree, is then the mean of the lanes' scores. With P_r(t) = exp r(t) / Z_r it
        decides for argmax_t prod_r P_r(t), the geometric mean of their likelihoods, since no Z_r depends on t.
        """
        return scores_R.mean(dim=0, keepdim=True) if self.together else scores_R

    def averaged_likelihoods(self, log_RUBK: Tensor) -> Tensor:
        """The logarithm of the mean likelihood, log 1/R sum_r exp log_r, over lanes that decide together, as one."""
        if not self.together:
            return log_RUBK
        return log_RUBK.logsumexp(dim=0, keepdim=True) - math.log(len(log_RUBK))

    @property
    def decides_on_host(self) -> bool:
        """Whether ``decode`` waits for its scores, to decide where Python runs."""
        return False

    doubts: Doubts | None = None
    """Where it notes whether a loss may be wrong, to be asked when many have been computed; None: each is right."""

    @property
    def may_doubt(self) -> bool:
        """Whether its losses may be wrong where there are ``doubts``."""
        return False

    @abstractmethod
    def loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """What training makes small, summed over the ``counts`` decisions of each sentence: loss_RB.

        A tag of -1 inside a sentence is unseen in training, hence unobserved; padding has it as well.
        """

    def losses(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """``loss`` by what is decided at once: losses_RUB where each tag is decided alone, losses_R1B elsewhere."""
        return self.loss(features_RUBF, gold, counts_RB).unsqueeze(1)

    @abstractmethod
    def decode(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """The decisions on every sentence."""

    @abstractmethod
    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """What it decides by, of every tag at every place: scores_RUBK; of a parser, of every head: scores_RTBS."""

    def decision_loss(self, features_RUBF: Tensor, counts_RB: Tensor, place_RB: Tensor) -> Tensor:
        """The loss of what the head decides at one place of each sentence, as of a text of this one token: loss_RB."""
        at_R1BF = place_RB.unsqueeze(1).unsqueeze(-1).expand(-1, -1, -1, features_RUBF.shape[-1])
        feature_R1BF, one_RB = features_RUBF.gather(1, at_R1BF), torch.ones_like(counts_RB)
        return self.loss(feature_R1BF, Gold(self.decode(feature_R1BF, one_RB).tags_RUB), one_RB)


class LinearHead(Head):
    """A head that scores each tag of each token: p_i = W [forward h_i; backward h_i] + b (wu2017 eq. 18, chen2017
    eq. 2).
    """

    def __init__(self, *, lanes: int, features: int, tags: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, features, tags, role=WEIGHT)
        self.bias = parameter(lanes, 1, tags, role=BIAS)

    def scores(self, features_RUBF: Tensor) -> Tensor:
        """p: scores_RUBK."""
        rows = features_RUBF.flatten(1, 2)
        return product(rows, self.weight, self.bias).view(*features_RUBF.shape[:3], -1)

    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """p, averaged over lanes that decide together."""
        return self.averaged_scores(self.scores(features_RUBF))


def log_loss(log_likelihoods_RUBK: Tensor, gold_RUB: Tensor) -> Tensor:
    """The negative log-likelihood of what is right, summed over each sentence: loss_RB (nats); of -1 nothing."""
    return log_losses(log_likelihoods_RUBK, gold_RUB).sum(dim=1)


def log_losses(log_likelihoods_RUBK: Tensor, gold_RUB: Tensor) -> Tensor:
    """The negative log-likelihood of what is right at each place: losses_RUB (nats); 0 at -1."""
    nll = nn.functional.nll_loss(
        log_likelihoods_RUBK.flatten(0, 2), gold_RUB.flatten(), ignore_index=UNSEEN, reduction="none"
    )
    return nll.view_as(gold_RUB)
