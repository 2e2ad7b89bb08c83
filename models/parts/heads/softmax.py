"""The head that decides the label of each token independently.

Axes: R lanes (a lane is one seed's copy of the network), U tags of a sentence, B sentences, F features, K tags to
choose from.
"""

from torch import Tensor

from skipstack.models.kernels.bounds import check_shape, in_range
from skipstack.models.kernels.choice import choose
from skipstack.models.parts.heads.base import UNSEEN, Decoded, Gold, LinearHead, log_losses


class SoftmaxHead(LinearHead):
    """Decides each token's label independently: y_t = softmax(W [forward h_t; backward h_t] + b) (wu2017 eq. 18)."""

    def losses(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """Computes -log y_t of each gold tag: losses_RUB (nats); 0 where the gold tag is -1. Ignores ``counts_RB``."""
        rows = gold.tags_RUB[0].numel()
        if not self.together and choose("log_loss", features_RUBF, rows) == "compiled":
            # numba takes a quarter of a second to load
            from skipstack.models.kernels.compiled.softmax import CompiledLogLoss

            lanes, size, tags = self.weight.shape
            check_shape("the features of a head", features_RUBF, lanes, *gold.tags_RUB.shape[1:], size)
            assert in_range(gold.tags_RUB, UNSEEN, tags), "each is a tag with a score, or unseen"
            given = features_RUBF, self.weight, self.bias, gold.tags_RUB
            losses_RUB: Tensor = CompiledLogLoss.apply(*given)
            return losses_RUB
        return log_losses(self._log_likelihoods(features_RUBF), gold.tags_RUB)

    def loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """Computes the sum of ``losses`` over each sentence: loss_RB."""
        return self.losses(features_RUBF, gold, counts_RB).sum(dim=1)

    def decode(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """Returns the likeliest tag of every token; ties go to the smallest id."""
        # without an ensemble, both have the same argmax
        decisive = self._log_likelihoods if self.together else self.scores
        return Decoded(decisive(features_RUBF).argmax(dim=-1))

    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """Returns log y, the log-likelihood of every tag at every position."""
        return self._log_likelihoods(features_RUBF)

    def _log_likelihoods(self, features_RUBF: Tensor) -> Tensor:
        """Computes log y, averaged over the lanes of an ensemble: log_RUBK."""
        return self.averaged_likelihoods(self.scores(features_RUBF).log_softmax(dim=-1))
