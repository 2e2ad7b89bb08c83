"""Biaffine dependency parsing (Dozat and Manning, 2017, Deep Biaffine Attention).

Axes: R lanes (a lane is one seed's copy of the network), T words, S = T + 1 positions (0 is the root, w the w-th word),
B sentences, F features, A or L numbers of a vector that scores arcs or relations, K relations.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.data.labels.trees import ROOT
from skipstack.models.configs.heads import BiaffineConfig
from skipstack.models.ground.parameters import BIAS, FORM, SCORE, WEIGHT, parameter
from skipstack.models.kernels.ordered import picked_steps
from skipstack.models.kernels.products import product
from skipstack.models.layers.lanes import Dropout, Streams
from skipstack.models.layers.lookup import Lookup
from skipstack.models.parts.heads.base import UNSEEN, Decoded, Gold, Head, log_loss
from skipstack.models.parts.heads.trees import best_tree

SLOPE = 0.1
"""The slope of the leaky rectifier below zero."""


@dataclass(frozen=True, slots=True)
class _Roles:
    """The vectors of positions in four roles: as dependent and as head, each in arc scores and in relation scores."""

    arc_dependents_RTBA: Tensor
    arc_heads_RSBA: Tensor
    relation_dependents_RTBL: Tensor
    relation_heads_RSBL: Tensor


class BiaffineHead(Head):
    """The parser of Dozat and Manning (2017): scores arcs and relations from four projections of the features x.

    role_w = leaky(W_role x_w + b_role), followed by dropout, for the four roles of ``_Roles``        (eqs 4-5)

    The paper's equations do not specify the activation; ours is the leaky rectifier of slope 0.1. The root's x is a
    learned vector, placed before the stack's outputs. A word is never its own head, not even in training.
    """

    def __init__(self, config: BiaffineConfig, *, features: int, relations: int, streams: Streams) -> None:
        super().__init__()
        lanes = streams.lanes
        self.sizes = (config.arc_size, config.arc_size, config.relation_size, config.relation_size)
        self.weight = parameter(lanes, features, sum(self.sizes), role=WEIGHT)
        self.bias = parameter(lanes, 1, sum(self.sizes), role=BIAS)
        self.root = Lookup(lanes, 1, features)
        self.dropout = Dropout([config.dropout] * lanes, streams)
        self.arcs = ArcScores(lanes=lanes, size=config.arc_size)
        self.relations = RelationScores(lanes=lanes, size=config.relation_size, relations=relations)
        self.tree = config.decoder == "tree"

    @property
    def decides_on_host(self) -> bool:
        """Whether the head decodes trees, which runs on the host in Python."""
        return self.tree

    def loss(self, features_RTBF: Tensor, gold: Gold, lengths_RB: Tensor) -> Tensor:
        """Computes -sum_w (log P(h_w) + log P(k_w | h_w)) for the gold heads h and relations k: loss_RB (nats).

        P(h_w) is a softmax over the possible heads, P(k_w | h_w) a softmax over the relations. A gold head of -1
        (padding) and a gold relation of -1 (padding, or not in the training split) add 0.
        """
        assert gold.heads_RTB is not None, "a parser is built for a corpus of trees alone"
        roles = self._roles(features_RTBF)
        arcs_RTBS = self._arc_scores(roles, lengths_RB)
        relations_RTBK = self._relation_scores(roles, gold.heads_RTB.clamp_min(ROOT))
        arcs_RB = log_loss(arcs_RTBS.log_softmax(dim=-1), gold.heads_RTB)
        return arcs_RB + log_loss(relations_RTBK.log_softmax(dim=-1), gold.tags_RUB)

    @torch.no_grad()
    def decode(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Decoded:
        """Decides on the head of each word, and on its tag, the likeliest relation to that head."""
        roles = self._roles(features_RTBF)
        arcs_RTBS = self._arc_scores(roles, lengths_RB)
        heads_RTB = arcs_RTBS.argmax(dim=-1)
        if self.tree:
            heads_RTB = _best_trees(arcs_RTBS, heads_RTB, lengths_RB)
        return Decoded(self._relation_scores(roles, heads_RTB).argmax(dim=-1), heads_RTB)

    def opinion(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """Returns the scores of all possible heads of each word (``_arc_scores``): scores_RTBS."""
        return self._arc_scores(self._roles(features_RTBF), lengths_RB)

    def decision_loss(self, features_RTBF: Tensor, lengths_RB: Tensor, place_RB: Tensor) -> Tensor:
        """Computes the loss of the parser's own decision on the word at index ``place_RB`` (counted from 0) of each
        sentence, arc plus relation: loss_RB. Unlike other heads, the parser needs all words of the sentence for that.
        """
        decoded = self.decode(features_RTBF, lengths_RB)
        assert decoded.heads_RTB is not None
        elsewhere_RTB = torch.arange(features_RTBF.shape[1], device=place_RB.device).view(-1, 1) != place_RB.unsqueeze(
            1
        )
        tags_RTB, heads_RTB = (
            each.masked_fill(elsewhere_RTB, UNSEEN) for each in (decoded.tags_RUB, decoded.heads_RTB)
        )
        return self.loss(features_RTBF, Gold(tags_RTB, heads_RTB), lengths_RB)

    def _roles(self, features_RTBF: Tensor) -> _Roles:
        lanes, _, sentences, features = features_RTBF.shape
        root_R1BF = self.root.table.unsqueeze(2).expand(lanes, 1, sentences, features)
        places_RSBF = torch.cat([root_R1BF, features_RTBF], dim=1)
        rows = product(places_RSBF.flatten(1, 2), self.weight, self.bias)
        read = self.dropout(functional.leaky_relu(rows, SLOPE)).view(*places_RSBF.shape[:3], -1)
        arc_dependents, arc_heads, relation_dependents, relation_heads = read.split(self.sizes, dim=-1)
        return _Roles(arc_dependents[:, 1:], arc_heads, relation_dependents[:, 1:], relation_heads)

    def _arc_scores(self, roles: _Roles, lengths_RB: Tensor) -> Tensor:
        """Computes the score of each position as the head of each word: scores_RTBS. It is -inf for positions after the
        sentence and for the word itself.
        """
        scores_RTBS = self.averaged_scores(self.arcs(roles.arc_dependents_RTBA, roles.arc_heads_RSBA))
        place_S = torch.arange(scores_RTBS.shape[-1], device=scores_RTBS.device)
        beyond_R1BS = (place_S > lengths_RB.unsqueeze(-1)).unsqueeze(1)
        itself_T1S = (place_S == place_S[1:, None]).unsqueeze(1)
        return scores_RTBS.masked_fill(beyond_R1BS | itself_T1S, -torch.inf)

    def _relation_scores(self, roles: _Roles, heads_RTB: Tensor) -> Tensor:
        """Computes the score of each relation between each word and its head ``heads_RTB``: scores_RTBK."""
        lanes = len(roles.relation_heads_RSBL)
        heads_RTBL = picked_steps(roles.relation_heads_RSBL, heads_RTB.expand(lanes, -1, -1))
        scores_RTBK: Tensor = self.relations(roles.relation_dependents_RTBL, heads_RTBL)
        return self.averaged_scores(scores_RTBK)


def _best_trees(arcs_RTBS: Tensor, heads_RTB: Tensor, lengths_RB: Tensor) -> Tensor:
    """Returns each sentence's best tree with one word under the root: heads_RTB, which is unchanged at padding."""
    scores = arcs_RTBS.cpu().double().numpy()
    heads = heads_RTB.cpu().numpy().copy()
    for (lane, sentence), length in np.ndenumerate(lengths_RB.cpu().numpy()):
        scores_TS = scores[lane, :length, sentence, : length + 1]
        heads[lane, :length, sentence] = best_tree(scores_TS, single_root=True)
    return torch.as_tensor(heads, device=heads_RTB.device)


class ArcScores(nn.Module):
    """Scores of arcs (eq. 6): s[w, h] is the score of position h as the head of word w.

    s[w, h] = head_h^T U dependent_w + head_h^T u

    The second term expresses how likely h is to have dependents at all. A term in dependent_w alone would be the same
    for all heads of a word, and change no decision. U and u are initially zero, so that all heads are equally likely.
    """

    def __init__(self, *, lanes: int, size: int) -> None:
        super().__init__()
        self.bilinear = parameter(lanes, size, size, role=FORM)
        self.bias = parameter(lanes, 1, size, role=SCORE)

    def forward(self, dependents_RTBA: Tensor, heads_RSBA: Tensor) -> Tensor:
        """Computes s: scores_RTBS."""
        rows = torch.baddbmm(self.bias, dependents_RTBA.flatten(1, 2), self.bilinear)
        sought_RBTA = rows.view_as(dependents_RTBA).transpose(1, 2)
        return torch.matmul(sought_RBTA, heads_RSBA.permute(0, 2, 3, 1)).transpose(1, 2)


class RelationScores(nn.Module):
    """Scores of relations (eq. 3): s_k is the score of relation k between a head and a dependent.

    s_k = head^T U_k dependent + W_k [head; dependent] + b_k

    U and b are initially zero, so that the scores are initially linear.
    """

    def __init__(self, *, lanes: int, size: int, relations: int) -> None:
        super().__init__()
        self.bilinear = parameter(lanes, size, relations * size, role=FORM)
        self.weight = parameter(lanes, 2 * size, relations, role=WEIGHT)
        self.bias = parameter(lanes, 1, relations, role=BIAS)

    def forward(self, dependents_RTBL: Tensor, heads_RTBL: Tensor) -> Tensor:
        """Computes s_k of each word and its head: scores_RTBK."""
        dependents, heads = dependents_RTBL.flatten(1, 2), heads_RTBL.flatten(1, 2)
        sought = torch.bmm(dependents, self.bilinear).view(*dependents.shape[:2], -1, dependents.shape[-1])
        linear = torch.baddbmm(self.bias, torch.cat([heads, dependents], dim=-1), self.weight)
        scores = torch.matmul(sought, heads.unsqueeze(-1)).squeeze(-1) + linear
        return scores.view(*dependents_RTBL.shape[:3], -1)
