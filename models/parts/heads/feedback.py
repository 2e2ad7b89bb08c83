"""The head of label-feedback networks.

Axes: R lanes (a lane is one seed's copy of the network), D reading directions, G = R * D, H hidden units, N rows,
U tags of a sentence, B sentences, K tags to choose from, F = D * K features: the scores of all directions side by side.
"""

import math

from torch import Tensor

from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.products import product
from skipstack.models.parts.heads.base import Decoded, Gold, Head, log_loss


class FeedbackHead(Head):
    """The head of label-feedback networks, which averages the likelihoods of its directions:
    y_t = 1/D sum_d softmax(O_d h_t^d + b_d), over D = 1 or 2 directions                      (dinarelli2016)

    The paper leaves two directions for later work. With two, our loss applies eq. 1 to the average y. Each direction
    feeds back its own softmax, so the network calls ``scores`` at each step. ``loss``, ``decode`` and ``opinion`` take
    these scores.
    """

    def __init__(self, *, lanes: int, directions: int, hidden: int, tags: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, directions, hidden, tags, role=WEIGHT)
        self.bias = parameter(lanes, directions, tags, role=BIAS)

    def scores(self, hidden_GNH: Tensor) -> Tensor:
        """Computes O_d h + b_d, the logits of each direction: scores_GNK."""
        return product(hidden_GNH, self.weight.flatten(0, 1), self.bias.flatten(0, 1).unsqueeze(1))

    def loss(self, features_RUBF: Tensor, gold: Gold, counts_RB: Tensor) -> Tensor:
        """Computes the sum of -c_t log y_t (eq. 1) over each sentence: loss_RB (nats). c_t is 1 for the gold tag, 0 for
        others. Padding adds 0, so ``counts_RB`` is ignored.
        """
        return log_loss(self._log_likelihoods(features_RUBF), gold.tags_RUB)

    def decode(self, features_RUBF: Tensor, counts_RB: Tensor) -> Decoded:
        """Returns the tags with the largest likelihood y_t (eq. 2); ties go to the smallest id."""
        return Decoded(self._log_likelihoods(features_RUBF).argmax(dim=-1))

    def opinion(self, features_RUBF: Tensor, counts_RB: Tensor) -> Tensor:
        """Returns log y, the log-likelihood of every tag at every position."""
        return self._log_likelihoods(features_RUBF)

    def _log_likelihoods(self, features_RUBF: Tensor) -> Tensor:
        """Computes log y, averaged over the lanes of an ensemble: log_RUBK."""
        directions, tags = self.weight.shape[1], self.weight.shape[-1]
        log_RUBDK = features_RUBF.view(*features_RUBF.shape[:3], directions, tags).log_softmax(dim=-1)
        log_RUBK = log_RUBDK.squeeze(3) if directions == 1 else log_RUBDK.logsumexp(dim=3) - math.log(directions)
        return self.averaged_likelihoods(log_RUBK)
