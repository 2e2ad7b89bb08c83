"""The base classes of heads, the output layers of networks, which decide on tags.

Axes: R lanes (a lane is one seed's copy of the network), B sentences, T tokens, U tags of a sentence (U = T, or U = 1
if a whole text gets one tag), F features, K tags to choose from; in parsing, S = T + 1 heads: the root, then the words.
"""

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
"""The id of gold tags that the training split lacks, and of padding. Decisions on them never count as right."""


Places = tuple[Tensor, Tensor]
"""The indices of N sentences of a batch: their lanes, lane_N, and their indices within the lane, sentence_N."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold tags of a batch: -1 at padding, and for tags that the training split lacks.

    In parsing, tags are relations, and ``heads_RTB`` are the heads: 0 for the root, w for the w-th word, -1 at padding.
    """

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None
    open: Places | None = None
    """The sentences with a tag that the training split lacks. None means that the head finds them from the tags."""
    counted_R: Tensor | None = None
    """The number of tags of each lane, including tags that the training split lacks. None means unknown."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The decisions of a network: the tags, and in parsing the heads of words. Values at padding are arbitrary. If a
    chain cannot decide on a sentence, all its tags are -1 (``models/parts/heads/chain/decode.py``).
    """

    tags_RUB: Tensor
    heads_RTB: Tensor | None = None

    def right(self, gold: Gold) -> Tensor:
        """Returns whether each tag, and in parsing also the head, is right: right_RUB; False for gold tags of -1."""
        right_RUB = (self.tags_RUB == gold.tags_RUB) & (gold.tags_RUB >= 0)
        if self.heads_RTB is None or gold.heads_RTB is None:
            return right_RUB
        return right_RUB & (self.heads_RTB == gold.heads_RTB)


class Head(nn.Module, ABC):
    """The output layer of a network, which decides on tags. A text to classify is treated as a single token."""

    part: ClassVar[Part] = "head"

    together = False
    """Whether the lanes are an ensemble. ``counts_RB``, gold tags, losses and decisions then have a single lane."""

    def averaged_scores(self, scores_R: Tensor) -> Tensor:
        """Averages scores of a chain, or of arcs and relations, over the lanes of an ensemble, into a single lane.
        Without an ensemble, returns the scores unchanged.

        The score of a whole tag sequence or tree t is then the mean of its scores s_r(t) over the lanes r. The t with
        the largest mean also has the largest product of the likelihoods exp(s_r(t)) / Z_r, since no Z_r depends on t.
        """
        return scores_R.mean(dim=0, keepdim=True) if self.together else scores_R

    def averaged_likelihoods(self, log_RUBK: Tensor) -> Tensor:
        """Averages likelihoods, given as logarithms, over the lanes of an ensemble, into a single lane: log(1/R sum_r
        exp(log_r)). Without an ensemble, returns them unchanged.
        """
        if not self.together:
            return log_RUBK
        return log_RUBK.logsumexp(dim=0, keepdim=True) - math.log(len(log_RUBK))

    @property
    def decides_on_host(self) -> bool:
        """Whether ``decode`` copies scores to the host and decides in Python."""
        return False

    doubts: Doubts | None = None
    """Records whether losses may be inaccurate, for a later check; None means to check each loss immediately."""

    @property
    def may_doubt(self) -> bool:
        """Whether losses may be inaccurate while ``doubts`` is set."""
        return False

    @abstractmethod
    def loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """Computes the training loss of each sentence: loss_RB. ``counts_RB``: the number of decisions of each
        sentence. Inside a sentence, a gold tag of -1 (a tag that the training split lacks) is treated as unobserved.
        """

    def losses(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """Computes separate losses, by default one per sentence: losses_R1B. A head that decides each tag independently
        may override this method, and return one loss per tag: losses_RUB.
        """
        return self.loss(features_RUBF, gold, counts_RB).unsqueeze(1)

    @abstractmethod
    def decode(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """Makes the decisions. ``counts_RB``: the number of decisions of each sentence."""

    @abstractmethod
    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """Returns the scores of all tags, scores_RUBK; in parsing, of all possible heads of words, scores_RTBS."""

    def decision_loss(self, features_RUBF: Tensor, counts_RB: Tensor, place_RB: Tensor) -> Tensor:
        """Computes the loss of the head's own decision at position ``place_RB`` (counted from 0) of each sentence, as
        if the sentence consisted of this token alone: loss_RB.
        """
        at_R1BF = place_RB.unsqueeze(1).unsqueeze(-1).expand(-1, -1, -1, features_RUBF.shape[-1])
        feature_R1BF, one_RB = features_RUBF.gather(1, at_R1BF), torch.ones_like(counts_RB)
        return self.loss(feature_R1BF, Gold(self.decode(feature_R1BF, one_RB).tags_RUB), one_RB)


class LinearHead(Head):
    """Scores tags by a linear layer: p_i = W [forward h_i; backward h_i] + b (wu2017 eq. 18, chen2017 eq. 2)."""

    def __init__(self, *, lanes: int, features: int, tags: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, features, tags, role=WEIGHT)
        self.bias = parameter(lanes, 1, tags, role=BIAS)

    def scores(self, features_RUBF: Tensor) -> Tensor:
        """Computes p, the score of every tag at every position: scores_RUBK."""
        rows = features_RUBF.flatten(1, 2)
        return product(rows, self.weight, self.bias).view(*features_RUBF.shape[:3], -1)

    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """Returns the scores p, averaged over the lanes of an ensemble."""
        return self.averaged_scores(self.scores(features_RUBF))


def log_loss(log_likelihoods_RUBK: Tensor, gold_RUB: Tensor) -> Tensor:
    """Computes the negative log-likelihood of the gold tags of each sentence: loss_RB (nats). Gold tags of -1 add 0."""
    return log_losses(log_likelihoods_RUBK, gold_RUB).sum(dim=1)


def log_losses(log_likelihoods_RUBK: Tensor, gold_RUB: Tensor) -> Tensor:
    """Computes the negative log-likelihood of each gold tag: losses_RUB (nats); 0 for gold tags of -1."""
    nll = nn.functional.nll_loss(
        log_likelihoods_RUBK.flatten(0, 2), gold_RUB.flatten(), ignore_index=UNSEEN, reduction="none"
    )
    return nll.view_as(gold_RUB)
