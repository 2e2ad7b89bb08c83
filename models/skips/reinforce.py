"""What a policy learns from: REINFORCE with an entropy term."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from skipstack.models.skips.config import DynamicSkipConfig
from skipstack.models.time.layer import Choices

DECAY = 0.99
"""Of the moving average of rewards, an update."""


class Reinforce(nn.Module):
    """J_2 = E[R] + alpha sum_t H(p_t), made larger by the gradient of

    sum_t log p_t(a_t) (R - b) + alpha sum_t H(p_t)                                          (gui2019 eqs 4 and 5)

    of the actions that were taken, over all steps, directions and layers that choose. R is the sentence's reward, b the
    baseline, which does not depend on the actions and so leaves the expected gradient as it is. No gradient goes
    through R and b. The log-likelihood as reward, this and the gradient of the loss J_1 itself are together that of
    E[J_1]: by the policy's parameters, and by all where ``config.gradient`` says "network". Otherwise the network's
    lacks what its states change in the choices. ``epoch``, counted from 0, is set from outside, since alpha may decay.
    """

    average_R: Tensor
    weight_R: Tensor

    def __init__(self, config: DynamicSkipConfig, lanes: int) -> None:
        super().__init__()
        self.config = config
        self.epoch = 0
        self.register_buffer("average_R", torch.zeros(lanes))
        self.register_buffer("weight_R", torch.zeros(lanes))

    def forward(self, made: Sequence[Choices], reward_RB: Tensor, lengths_RB: Tensor) -> Tensor:
        """A number for each sentence, objective_RB, whose gradient that of the docstring is; its value means nothing.

        In training the baseline then takes in these rewards.
        """
        reward_RB = reward_RB.detach()
        advantage_RB = reward_RB - self._baseline().unsqueeze(1)
        if self.training:
            self._take_in(reward_RB)
        alpha = self.config.entropy_weight * self.config.entropy_decay**self.epoch
        objective_RB = torch.zeros_like(reward_RB)
        for choices in made:
            log_GTBJ = choices.log_probabilities()
            taken_GTB = log_GTBJ.gather(-1, choices.back_GTB.unsqueeze(-1)).squeeze(-1)
            entropy_GTB = -(log_GTBJ.exp() * log_GTBJ).sum(dim=-1)
            taken_RB, entropy_RB = (_over_time(values, lengths_RB) for values in (taken_GTB, entropy_GTB))
            objective_RB = objective_RB + taken_RB * advantage_RB + alpha * entropy_RB
        return objective_RB

    def _baseline(self) -> Tensor:
        """The b of each lane: baseline_R, the average without the zeros that it began with."""
        return self.average_R / self.weight_R.clamp(min=1 - DECAY)

    def _take_in(self, reward_RB: Tensor) -> None:
        if self.config.baseline == "moving_average":
            self.average_R.lerp_(reward_RB.mean(dim=1), 1 - DECAY)
            self.weight_R.lerp_(torch.ones_like(self.weight_R), 1 - DECAY)


def _over_time(values_GTB: Tensor, lengths_RB: Tensor) -> Tensor:
    """The sum over the steps of a sentence, padding left out, and over directions: sum_RB."""
    time_T1 = torch.arange(values_GTB.shape[1], device=values_GTB.device).unsqueeze(1)
    values_RDTB = values_GTB.view(len(lengths_RB), -1, *values_GTB.shape[1:])
    inside_R1TB = (time_T1 < lengths_RB.unsqueeze(1)).unsqueeze(1)
    return values_RDTB.where(inside_R1TB, 0).sum(dim=(1, 2))
