"""Scores of arcs and of their relations (Dozat and Manning, 2017, Deep Biaffine Attention).

S = T + 1 places: 0 is the root, w the w-th word. K relations.
"""

import torch
from torch import Tensor, nn

from skipstack.models.ground.parameters import BIAS, FORM, SCORE, WEIGHT, parameter


class ArcScores(nn.Module):
    """s[w, h] = head_h^T U dependent_w + head_h^T u                                     (eq. 6)

    The score of place h as the head of word w; the term of u is how likely h is to have dependents at all. (A 1
    appended to the head instead would add the same to all heads of a word, which changes no choice.) U and u start at
    zero, where all heads are equally likely.
    """

    def __init__(self, *, lanes: int, size: int) -> None:
        super().__init__()
        self.bilinear = parameter(lanes, size, size, role=FORM)
        self.bias = parameter(lanes, 1, size, role=SCORE)

    def forward(self, dependents_RTBA: Tensor, heads_RSBA: Tensor) -> Tensor:
        """scores_RTBS."""
        rows = torch.baddbmm(self.bias, dependents_RTBA.flatten(1, 2), self.bilinear)
        sought_RBTA = rows.view_as(dependents_RTBA).transpose(1, 2)
        return torch.matmul(sought_RBTA, heads_RSBA.permute(0, 2, 3, 1)).transpose(1, 2)


class RelationScores(nn.Module):
    """s_k = head^T U_k dependent + W_k [head; dependent] + b_k                          (eq. 3)

    The score of relation k for the arc from a head to a dependent. U and b start at zero, where the scores are those of
    a linear layer.
    """

    def __init__(self, *, lanes: int, size: int, relations: int) -> None:
        super().__init__()
        self.bilinear = parameter(lanes, size, relations * size, role=FORM)
        self.weight = parameter(lanes, 2 * size, relations, role=WEIGHT)
        self.bias = parameter(lanes, 1, relations, role=BIAS)

    def forward(self, dependents_RTBL: Tensor, heads_RTBL: Tensor) -> Tensor:
        """scores_RTBK of the arc from each word's head to the word."""
        dependents, heads = dependents_RTBL.flatten(1, 2), heads_RTBL.flatten(1, 2)
        sought = torch.bmm(dependents, self.bilinear).view(*dependents.shape[:2], -1, dependents.shape[-1])
        linear = torch.baddbmm(self.bias, torch.cat([heads, dependents], dim=-1), self.weight)
        scores = torch.matmul(sought, heads.unsqueeze(-1)).squeeze(-1) + linear
        return scores.view(*dependents_RTBL.shape[:3], -1)
