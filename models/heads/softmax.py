"""A label for each token on its own."""

from torch import Tensor

from skipstack.models.heads.base import Decoded, Gold, LinearHead, log_loss


class SoftmaxHead(LinearHead):
    """y_t = softmax(W [forward h_t; backward h_t] + b)                                  (wu2017 eq. 18)"""

    def loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """-log y_t of the gold tags: loss_RB (nats). Padding counts nothing, so the counts are not needed."""
        return log_loss(self.scores(features_RUBF).log_softmax(dim=-1), gold.tags_RUB)

    def decode(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """The likeliest tag of every token; the smallest id where two are equal."""
        return Decoded(self.scores(features_RUBF).argmax(dim=-1))
