"""A label for each token on its own.

Shapes: R lanes, T time, B sentences, F features, K tags.
"""

from torch import Tensor
from torch.nn import functional

from skipstack.models.heads.base import UNSEEN, Head


class SoftmaxHead(Head):
    """y_t = softmax(W [forward h_t; backward h_t] + b)                                  (wu2017 eq. 18)"""

    def loss(self, features_RTBF: Tensor, tags_RTB: Tensor, lengths_RB: Tensor) -> Tensor:
        """The negative log-likelihood of each sentence, summed over its tokens: loss_RB (nats).

        Tokens whose tag is -1 (padding, or unseen in training) count nothing; so the lengths are not needed.
        """
        scores_RTBK = self.scores(features_RTBF)
        nll = functional.cross_entropy(
            scores_RTBK.flatten(0, 2), tags_RTB.flatten(), ignore_index=UNSEEN, reduction="none"
        )
        return nll.view_as(tags_RTB).sum(dim=1)

    def decode(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """The likeliest tag of every token: tags_RTB; the smallest id where two are equal."""
        return self.scores(features_RTBF).argmax(dim=-1)
