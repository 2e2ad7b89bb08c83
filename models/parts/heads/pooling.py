"""Pooling: one vector of features for a whole text.

Axes: R lanes (a lane is one seed's copy of the network), T tokens, B texts, F features.
"""

from typing import assert_never

import torch
from torch import Tensor

from skipstack.models.configs.model import Pooling


def pooled(features_RTBF: Tensor, lengths_RB: Tensor, directions: int, how: Pooling) -> Tensor:
    """Pools the features of a text's tokens, all ``directions`` side by side, into one vector: text_R1BF. ``how``:

    ``last``: the last state of each direction, that is, the forward state of the last token and the backward state of
    the first token (gui2019 section 4.4: "the last hidden state"). ``mean``, ``max``: the mean or maximum of each
    feature over the tokens. Padding is ignored.
    """
    match how:
        case "last":
            forward, *backward = features_RTBF.chunk(directions, dim=-1)
            place_R1B1 = (lengths_RB - 1).unsqueeze(1).unsqueeze(-1)
            last_R1BF = forward.gather(1, place_R1B1.expand(-1, -1, -1, forward.shape[-1]))
            return torch.cat([last_R1BF, *(part[:, :1] for part in backward)], dim=-1)
        case "mean":
            total_R1BF = features_RTBF.where(_inside(features_RTBF, lengths_RB), 0).sum(dim=1, keepdim=True)
            return total_R1BF / lengths_RB.unsqueeze(1).unsqueeze(-1)
        case "max":
            return features_RTBF.where(_inside(features_RTBF, lengths_RB), -torch.inf).amax(dim=1, keepdim=True)
        case _:
            assert_never(how)


def _inside(features_RTBF: Tensor, lengths_RB: Tensor) -> Tensor:
    time_T1 = torch.arange(features_RTBF.shape[1], device=lengths_RB.device).unsqueeze(1)
    return (time_T1 < lengths_RB.unsqueeze(1)).unsqueeze(-1)
