"""The base of heads, which turn the features of tokens into decisions."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from skipstack.data.basis.user_code.configs import Part
from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.products import product
from skipstack.models.parts.heads.doubts import Doubts

UNSEEN = -1
"""The id of a gold tag that the training split lacks: never predicted, never trained on."""


Places = tuple[Tensor, Tensor]
"""The indices of some sentences of a batch: lane_N and sentence_N."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold tags of a batch; -1 at padding and where train lacks the tag.

    For parsing, tags are relations, and there are heads: 0 the root, w the w-th word, -1 at padding.
    """

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None
    open: Places | None = None
    """The sentences with a tag that train lacks; None: to be found from the tags."""
    counted_R: Tensor | None = None
    """The number of tags, those that train lacks included."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The decisions of a network: the tags, and heads if it parses; values at padding are arbitrary."""

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None

    def right(self, gold: Gold) -> Tensor:
        """Whether each decision is right, its head included: right_RUB; False at padding, and where gold has no tag."""
        right_RUB = (self.tags_RUB == gold.tags_RUB) & (gold.tags_RUB >= 0)
        if self.heads_RTB is None or gold.heads_RTB is None:
            return right_RUB
        return right_RUB & (self.heads_RTB == gold.heads_RTB)


class Head(nn.Module, ABC):
    """The output layer of a network: decides from the features of each sentence's tokens, or from those of a whole
    text as of one token.
    """

    part: ClassVar[Part] = "head"

    together = False
    """Whether the lanes are an ensemble: they then decide as one, and counts, losses and decisions have a single
    lane."""

    def averaged_scores(self, scores_R: Tensor) -> Tensor:
        """The mean over the lanes of an ensemble, as one lane: of a chain's scores, or of arcs and their relations.

        The score of a whole tagging, or tree, is then the mean of the lanes' scores. With P_r(t) = exp r(t) / Z_r it
        decides for argmax_t prod_r P_r(t), the geometric mean of their likelihoods, since no Z_r depends on t.
        """
        return scores_R.mean(dim=0, keepdim=True) if self.together else scores_R

    def averaged_likelihoods(self, log_RUBK: Tensor) -> Tensor:
        """The logarithm of the mean likelihood over the lanes of an ensemble, log 1/R sum_r exp log_r, as one lane."""
        if not self.together:
            return log_RUBK
        return log_RUBK.logsumexp(dim=0, keepdim=True) - math.log(len(log_RUBK))

    @property
    def decides_on_host(self) -> bool:
        """Whether ``decode`` copies scores to the host and decides in Python."""
        return False

    doubts: Doubts | None = None
    """Suspect losses are recorded here, to be checked after many have been computed; None: each is checked at once."""

    @property
    def may_doubt(self) -> bool:
        """Whether losses may be wrong while ``doubts`` is set."""
        return False

    @abstractmethod
    def loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """The training loss, summed over the ``counts`` decisions of each sentence: loss_RB.

        A tag of -1 inside a sentence does not occur in train, and is treated as unobserved; padding has -1 as well.
        """

    def losses(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """``loss`` per joint decision: losses_RUB where each tag is decided independently, losses_R1B elsewhere."""
        return self.loss(features_RUBF, gold, counts_RB).unsqueeze(1)

    @abstractmethod
    def decode(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """The decisions on every sentence."""

    @abstractmethod
    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """The scores behind the decisions, of every tag at every position: scores_RUBK; for a parser, of every head:
        scores_RTBS.
        """

    def decision_loss(self, features_RUBF: Tensor, counts_RB: Tensor, place_RB: Tensor) -> Tensor:
        """The loss of the head's own decision at one position of each sentence, as if the text were this token:
        loss_RB.
        """
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
        """p, averaged over the lanes of an ensemble."""
        return self.averaged_scores(self.scores(features_RUBF))


def log_loss(log_likelihoods_RUBK: Tensor, gold_RUB: Tensor) -> Tensor:
    """The negative log-likelihood of the gold tags, summed over each sentence: loss_RB (nats); -1 adds nothing."""
    return log_losses(log_likelihoods_RUBK, gold_RUB).sum(dim=1)


def log_losses(log_likelihoods_RUBK: Tensor, gold_RUB: Tensor) -> Tensor:
    """The negative log-likelihood of the gold tag at each position: losses_RUB (nats); 0 at -1."""
    nll = nn.functional.nll_loss(
        log_likelihoods_RUBK.flatten(0, 2), gold_RUB.flatten(), ignore_index=UNSEEN, reduction="none"
    )
    return nll.view_as(gold_RUB)
