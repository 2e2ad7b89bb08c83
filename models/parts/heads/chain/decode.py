"""The Viterbi algorithm: finds the best tag sequence of a chain.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B sentences, K tags (KK: previous tag, tag).
"""

import torch
from torch import Tensor

from skipstack.models.parts.heads.chain.program import Chain, alphas, ending, total
from skipstack.models.parts.heads.chain.semirings import Max


@torch.no_grad()
def best_tagging(chain: Chain) -> Tensor:
    """Finds the tag sequence t with the largest score, argmax_t r(t), by the Viterbi algorithm (chen2017 eqs 4 and 17):
    tags_RTB. Tags are -1 after a sentence's end, and in sentences with NaN scores or without any allowed tag sequence.

    Back-pointers are computed in the backward sweep, only for tags of the best path. Tag j points to the tag i of the
    previous step with the largest alpha[i] + transition[i, j]; ties go to the smaller i.
    """
    semiring = Max()
    alpha_RTBK = alphas(chain, semiring)
    allowed_RB = total(chain, alpha_RTBK, semiring) > -torch.inf
    moves_to = _MovesTo(chain.transition_RKK)
    inside_RTB = chain.inside()
    last_RB = ending(chain, alpha_RTBK).argmax(dim=-1)
    tags = [last_RB]
    for t in reversed(range(inside_RTB.shape[1] - 1)):
        before_RB = (alpha_RTBK[:, t] + moves_to(tags[-1])).argmax(dim=-1)
        tags.append(before_RB.where(inside_RTB[:, t + 1], last_RB))
    return torch.stack(tags[::-1], dim=1).where(inside_RTB & allowed_RB.unsqueeze(1), -1)


class _MovesTo:
    """Looks up the scores of all transitions to given tags."""

    def __init__(self, transition_RKK: Tensor) -> None:
        lanes, tags, _ = transition_RKK.shape
        self.rows = transition_RKK.transpose(1, 2).reshape(lanes * tags, tags)
        self.row_R1 = torch.arange(0, lanes * tags, tags, device=transition_RKK.device).view(-1, 1)

    def __call__(self, tag_RB: Tensor) -> Tensor:
        """Returns the scores transition[:, tag]: scores_RBK."""
        return self.rows.index_select(0, (tag_RB + self.row_R1).flatten()).view(*tag_RB.shape, -1)
