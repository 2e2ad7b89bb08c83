"""A label for each token on its own.

Shapes: R lanes, T time, B sentences, F features, K tags.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

UNSEEN = -1
"""The id of a gold tag that the training split does not have: never predicted, never learned from."""


class SoftmaxHead(nn.Module):
    """y_t = softmax(W [forward h_t; backward h_t] + b)                                  (wu2017 eq. 18)"""

    def __init__(self, *, lanes: int, features: int, tags: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(lanes, features, tags))
        self.bias = nn.Parameter(torch.empty(lanes, 1, tags))

    def scores(self, features_RTBF: Tensor) -> Tensor:
        """The logits scores_RTBK."""
        rows = features_RTBF.flatten(1, 2)
        return torch.baddbmm(self.bias, rows, self.weight).view(*features_RTBF.shape[:3], -1)

    def loss(self, features_RTBF: Tensor, tags_RTB: Tensor) -> Tensor:
        """The negative log-likelihood of each sentence, summed over its tokens: loss_RB (nats).

        Tokens whose tag is -1 (padding, or unseen in training) count nothing.
        """
        scores_RTBK = self.scores(features_RTBF)
        nll = functional.cross_entropy(
            scores_RTBK.flatten(0, 2), tags_RTB.flatten(), ignore_index=UNSEEN, reduction="none"
        )
        return nll.view_as(tags_RTB).sum(dim=1)

    def decode(self, features_RTBF: Tensor) -> Tensor:
        """The likeliest tag of every token: tags_RTB; the smallest id where two are equal."""
        return self.scores(features_RTBF).argmax(dim=-1)
