"""A label for each token, from networks that read in one or two directions.

Shapes: R lanes, D directions, G = R * D, T time, B sentences, N any number of positions, X hidden, K tags.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from skipstack.models.heads.base import UNSEEN
from skipstack.models.parameters import BIAS, WEIGHT, parameter


class FeedbackHead(nn.Module):
    """y_t = 1/D sum_d softmax(O_d h_t^d + b_d), over D = 1 or 2 directions                      (dinarelli2016)

    The paper has one direction and leaves the others for later work; in both, the network's output is the average, and
    its loss is eq. 1 of that output. What a direction feeds back to itself is its own y_d alone.
    """

    def __init__(self, *, lanes: int, directions: int, hidden: int, tags: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, directions, hidden, tags, role=WEIGHT)
        self.bias = parameter(lanes, directions, tags, role=BIAS)

    def scores(self, hidden_GNX: Tensor) -> Tensor:
        """O_d h + b_d, the logits of each direction: scores_GNK."""
        return torch.baddbmm(self.bias.flatten(0, 1).unsqueeze(1), hidden_GNX, self.weight.flatten(0, 1))

    def log_likelihoods(self, scores_GTBK: Tensor) -> Tensor:
        """The logarithm of y, from scores in reading order: log_RTBK."""
        lanes, directions = self.weight.shape[:2]
        log_RDTBK = scores_GTBK.log_softmax(dim=-1).view(lanes, directions, *scores_GTBK.shape[1:])
        return log_RDTBK[:, 0] if directions == 1 else log_RDTBK.logsumexp(dim=1) - math.log(directions)

    def loss(self, log_RTBK: Tensor, tags_RTB: Tensor) -> Tensor:
        """-c_t log y_t (eq. 1) summed over the tokens of each sentence: loss_RB (nats).

        Tokens whose tag is -1 (padding, or unseen in training) count nothing.
        """
        nll = functional.nll_loss(log_RTBK.flatten(0, 2), tags_RTB.flatten(), ignore_index=UNSEEN, reduction="none")
        return nll.view_as(tags_RTB).sum(dim=1)

    def decode(self, log_RTBK: Tensor) -> Tensor:
        """argmax_k y_t (eq. 2): tags_RTB; the smallest id where two are equal."""
        return log_RTBK.argmax(dim=-1)
