"""What a head is. Shapes: R lanes, T time, B sentences, F features, K tags."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from skipstack.models.parameters import BIAS, WEIGHT, parameter

UNSEEN = -1
"""The id of a gold tag that the training split does not have: never predicted, never learned from."""


class Head(nn.Module, ABC):
    """From the features of tokens to their tags.

    Every head scores each tag of each token: p_i = W [forward h_i; backward h_i] + b (wu2017 eq. 18, chen2017 eq. 2).
    """

    def __init__(self, *, lanes: int, features: int, tags: int) -> None:
        super().__init__()
        self.weight = parameter(lanes, features, tags, role=WEIGHT)
        self.bias = parameter(lanes, 1, tags, role=BIAS)

    def scores(self, features_RTBF: Tensor) -> Tensor:
        """p: scores_RTBK."""
        rows = features_RTBF.flatten(1, 2)
        return torch.baddbmm(self.bias, rows, self.weight).view(*features_RTBF.shape[:3], -1)

    @abstractmethod
    def loss(self, features_RTBF: Tensor, tags_RTB: Tensor, lengths_RB: Tensor) -> Tensor:
        """What training makes small, summed over the tokens of each sentence: loss_RB.

        A tag of -1 inside a sentence is unseen in training, hence unobserved; padding has it as well.
        """

    @abstractmethod
    def decode(self, features_RTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """The predicted tag of every token: tags_RTB; what stands at padding means nothing."""
