"""The best taggings of a chain.

Shapes: R lanes, T time, B sentences, K tags (from, to where there are two), N ranks, X = N * K.
"""

import torch
from torch import Tensor

from skipstack.models.chain.program import Chain, alphas, ending, total
from skipstack.models.chain.semirings import Best


def best_tagging(chain: Chain) -> Tensor:
    """argmax_t r(t), by Viterbi's algorithm (chen2017 eqs 4 and 17): tags_RTB; -1 behind a sentence's end."""
    return best_taggings(chain, 1)[0].squeeze(-1)


@torch.no_grad()
def best_taggings(chain: Chain, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` best taggings of each sentence, all different, and their scores: tags_RTBN, score_RBN, descending.

    Where fewer are allowed, the ranks left over have the score -inf and the tags -1. Back-pointers are found on the
    way back, for the tags on the way alone: the n-th value of tag j points to the place, rank m and tag i, of the
    n-th largest value[m, i] + transition[i, j]; of equal ones the smaller m, then the smaller i comes first. Ranks
    point to different places, so no two taggings are the same.
    """
    semiring, tags = Best(count), chain.start_RK.shape[-1]
    alpha_RTBNK = alphas(chain, semiring)
    score_RBN = total(chain, alpha_RTBNK, semiring)
    moves_to = _MovesTo(chain.transition_RKK)
    going_on = chain.inside().unsqueeze(-1).unbind(1)
    rank_RBN = torch.arange(count, device=score_RBN.device).expand_as(score_RBN)
    last_RBN = _ranked(ending(chain, alpha_RTBNK, semiring).unsqueeze(2).expand(-1, -1, count, -1, -1), rank_RBN)
    places = [last_RBN]
    for t in reversed(range(len(going_on) - 1)):
        tag_RBN, rank_RBN = (places[-1], rank_RBN) if count == 1 else (places[-1] % tags, places[-1] // tags)
        before_RBN = _ranked(alpha_RTBNK[:, t].unsqueeze(2) + moves_to(tag_RBN).unsqueeze(3), rank_RBN)
        places.append(before_RBN.where(going_on[t + 1], last_RBN))
    tags_RTBN = torch.stack(places[::-1], dim=1) % tags
    there_RTBN = torch.stack(going_on, dim=1) & (score_RBN > -torch.inf).unsqueeze(1)
    return tags_RTBN.where(there_RTBN, -1), score_RBN


class _MovesTo:
    """The scores of the moves to given tags."""

    def __init__(self, transition_RKK: Tensor) -> None:
        lanes, tags, _ = transition_RKK.shape
        self.rows = transition_RKK.transpose(1, 2).reshape(lanes * tags, tags)
        self.row_R11 = torch.arange(0, lanes * tags, tags, device=transition_RKK.device).view(-1, 1, 1)

    def __call__(self, tag_RBN: Tensor) -> Tensor:
        """transition[:, tag]: scores_RBNK."""
        return self.rows.index_select(0, (tag_RBN + self.row_R11).flatten()).view(*tag_RBN.shape, -1)


def _ranked(values_RBNNK: Tensor, rank_RBN: Tensor) -> Tensor:
    """The place of the rank-th largest of each row of N * K values; of equal ones, the first comes first."""
    values_RBNX = values_RBNNK.flatten(3)
    if values_RBNX.shape[2] == 1:
        return values_RBNX.argmax(dim=-1)
    order_RBNX = values_RBNX.sort(dim=-1, descending=True, stable=True).indices
    return order_RBNX.gather(-1, rank_RBN.unsqueeze(-1)).squeeze(-1)
