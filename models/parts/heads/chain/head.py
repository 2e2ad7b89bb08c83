"""The head that decides the tags of a sentence as a linear chain.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, K tags (KK: previous tag, tag), N
sentences picked from all lanes.
"""

from dataclasses import replace
from typing import assert_never

import numpy as np
import torch
from torch import Tensor

from skipstack.data.labels.transitions import Transitions
from skipstack.models.configs.heads import CrfConfig, MarginConfig
from skipstack.models.ground.parameters import BIAS, SCORE, parameter
from skipstack.models.parts.heads.base import Decoded, Gold, LinearHead, Places
from skipstack.models.parts.heads.chain.decode import best_tagging
from skipstack.models.parts.heads.chain.partition import log_partition
from skipstack.models.parts.heads.chain.program import Chain, others, score
from skipstack.models.parts.heads.doubts import Doubts


class ChainHead(LinearHead):
    """A linear chain (a CRF, or trained by max-margin), which scores a whole tag sequence t of a sentence:
    r(t) = start[t_1] + sum_i p_i[t_i] + sum_{i>1} A[t_{i-1}, t_i] + end[t_n]           (chen2017 eq. 3)

    p are the linear scores of each token's tags, A the transition scores. The boundary scores ``start`` and ``end``,
    usual in conditional random fields, are not in the paper. Without ``config.boundary_scores`` they are 0. ``start``,
    A and ``end`` are initially zero. With ``allowed``, transitions that the label scheme forbids have the score -inf,
    in training and decoding, also those from the start and to the end. Gold tags with a forbidden transition have the
    loss inf. If some gold tags of a sentence are unobserved, and no allowed tag sequence has the others, its loss is 0.
    """

    forbidden_start_K: Tensor
    forbidden_between_KK: Tensor
    forbidden_end_K: Tensor

    def __init__(
        self, *, lanes: int, features: int, tags: int, config: CrfConfig | MarginConfig, allowed: Transitions | None
    ) -> None:
        super().__init__(lanes=lanes, features=features, tags=tags)
        self.config = config
        self.bias_start = parameter(lanes, tags, role=BIAS) if config.boundary_scores else None
        self.bias_between = parameter(lanes, tags, tags, role=SCORE)
        self.bias_end = parameter(lanes, tags, role=BIAS) if config.boundary_scores else None
        if allowed is None:
            allowed = Transitions(np.full(tags, True), np.full((tags, tags), True), np.full(tags, True))
        # Not saved with the weights, because the config and the tags determine the forbidden transitions.
        self.register_buffer("forbidden_start_K", torch.as_tensor(~allowed.start_K), persistent=False)
        self.register_buffer("forbidden_between_KK", torch.as_tensor(~allowed.between_KK), persistent=False)
        self.register_buffer("forbidden_end_K", torch.as_tensor(~allowed.end_K), persistent=False)

    @property
    def may_doubt(self) -> bool:
        """Whether the loss contains a log-partition, which only a CRF's loss does."""
        return isinstance(self.config, CrfConfig)

    def chain(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Chain:
        """Returns the chains of all sentences."""
        return Chain(
            emissions_RTBK=self.averaged_scores(self.scores(features_RTBF)),
            start_RK=self._boundary(self.bias_start, self.forbidden_start_K),
            transition_RKK=self.averaged_scores(self.bias_between).masked_fill(self.forbidden_between_KK, -torch.inf),
            end_RK=self._boundary(self.bias_end, self.forbidden_end_K),
            lengths_RB=lengths_RB,
        )

    def _boundary(self, learned_RK: Tensor | None, forbidden_K: Tensor) -> Tensor:
        """Returns the scores of all tags at the start or the end of sentences: scores_RK."""
        scores_RK = torch.zeros_like(self.bias.squeeze(1)) if learned_RK is None else learned_RK
        return self.averaged_scores(scores_RK).masked_fill(forbidden_K, -torch.inf)

    def loss(self, features_RTBF: Tensor, gold: Gold, lengths_RB: Tensor) -> Tensor:
        """Computes the loss of each sentence, loss_RB. The formula depends on the kind of the head's config:

        ``crf``     -log P(t*) = log sum_t exp r(t) - r(t*), in nats                  (Lafferty et al., 2001)
        ``margin``  max_t (r(t) + Delta(t*, t)) - r(t*), in units of scores             (chen2017 eq. 21)
        t* are the gold tags, and Delta is eta times the number of wrong tags (eq. 19). The maximum is found by
        decoding, with eta added to the score of each token's wrong tags. Eq. 20 also averages over sentences and adds
        L2 regularisation. The training loop does both.

        If some gold tags are unobserved, r(t*) is replaced. Let t' be the tag sequences that have all observed tags.
        Under ``crf``, log sum_t' exp r(t') replaces it, so the loss is -log P(observed). Under ``margin``, max_t' r(t')
        replaces it, and Delta counts observed tokens only, as in a latent structural SVM (Yu and Joachims, 2009).
        """
        chain = self.chain(features_RTBF, lengths_RB)
        match self.config:
            case CrfConfig():
                every_RB, observed_RB = log_partition(chain, self.doubts), _log_observed(chain, gold, self.doubts)
            case MarginConfig(discount=eta):
                wrong_RTBK = others(gold.tags_RUB, chain.emissions_RTBK.shape[-1]).to(chain.emissions_RTBK)
                augmented = replace(chain, emissions_RTBK=chain.emissions_RTBK + eta * wrong_RTBK)
                every_RB, observed_RB = _best(augmented), _best_observed(chain, gold)
            case _:
                assert_never(self.config)
        loss_RB = every_RB - observed_RB
        # Without constraints, -inf comes from the scores of a lane that has diverged, whose loss must not be finite.
        if not self.config.constrained or not len((places := _open(chain, gold))[0]):
            return loss_RB
        return loss_RB.index_put(places, loss_RB[places].masked_fill(observed_RB[places] == -torch.inf, 0))

    def decode(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Decoded:
        """Finds the best tag sequence of each sentence (``best_tagging``). Tags are -1 at padding, and throughout
        sentences with NaN scores or without an allowed tag sequence.
        """
        return Decoded(best_tagging(self.chain(features_RTBF, lengths_RB)))


def _log_observed(chain: Chain, gold: Gold, doubts: Doubts | None) -> Tensor:
    """Computes log sum_t' exp r(t') over the tag sequences t' with the observed tags: score_RB."""
    score_RB, places = score(chain, gold.tags_RUB.clamp_min(0)), _open(chain, gold)
    if not len(places[0]):
        return score_RB
    observed_N1 = log_partition(chain.observing(gold.tags_RUB).alone(*places), doubts)
    return score_RB.index_put(places, observed_N1.squeeze(1))


def _best(chain: Chain) -> Tensor:
    """Computes max_t r(t): score_RB. It is NaN for sentences with NaN scores (as in a lane whose training has diverged)
    or without an allowed tag sequence.
    """
    tags_RTB = best_tagging(chain)
    return score(chain, tags_RTB.clamp_min(0)).masked_fill(tags_RTB[:, 0] < 0, torch.nan)


def _best_observed(chain: Chain, gold: Gold) -> Tensor:
    """Computes max_t' r(t') over the tag sequences t' with the observed tags: score_RB."""
    tags_RTB = gold.tags_RUB
    if len(_open(chain, gold)[0]):
        tags_RTB = best_tagging(chain.observing(tags_RTB)).where(tags_RTB < 0, tags_RTB)
    return score(chain, tags_RTB.clamp_min(0))


def _open(chain: Chain, gold: Gold) -> Places:
    """Returns the indices of the sentences with an unobserved tag: lane_N and sentence_N."""
    if gold.open is not None:
        return gold.open
    lane_N, sentence_N = ((gold.tags_RUB < 0) & chain.inside()).any(dim=1).nonzero(as_tuple=True)
    return lane_N, sentence_N
