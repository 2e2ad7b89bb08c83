"""Trains policies by REINFORCE with an entropy term.

Axes: R lanes (a lane is one seed's copy of the network), D directions, G = R * D, T time steps, B sentences, U tags of
a sentence (1 for joint decisions), J last states that a step may read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.kernels.reading import ReadingOrder
from skipstack.models.layers.lanes import Lane, rates
from skipstack.models.layers.layer import Choices

DECAY = 0.99
"""The decay per update of the moving averages of rewards and of their weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Rewards:
    """The rewards of the network's decisions: one decision per tag, or one per sentence.

    ``earned_RUB``: the reward of each decision. ``counts_RUB``: the weight of each decision; 0 at padding.
    """

    earned_RUB: Tensor
    counts_RUB: Tensor

    def whole(self) -> "Rewards":
        """Sums the rewards and weights over each sentence, for joint decisions."""
        return Rewards(self.earned_RUB.sum(dim=1, keepdim=True), self.counts_RUB.sum(dim=1, keepdim=True))


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """The choices of a layer. ``seen_before``: whether a choice also affects decisions on tokens read earlier."""

    choices: Choices
    seen_before: bool


class Reinforce(nn.Module):
    """The objective of policies: J_2 = E[R] + alpha sum_t H(p_t). Its gradient is estimated by the gradient of

    sum_t log p_t(a_t) sum_u (r_u - b n_u) + alpha sum_t H(p_t)                              (gui2019 eqs 4 and 5)

    t runs over all steps, directions and layers with a policy. a_t is the sampled action, p_t the policy's distribution
    over actions, and H the entropy. u are the decisions on a sentence. r_u is the reward of a decision, and n_u its
    weight. R is the sum of the rewards. The baseline b is a moving average of the reward per unit of weight, or 0 if
    ``config.baseline`` is "none". The paper has no baseline, and credits each step with all of R. With
    ``config.reward_to_go``, u runs only over the tags from t on, in reading order, if a_t affects no decision on
    earlier tokens (``Made``) and tags are decided independently. This rule and the baseline keep the expected gradient,
    and make its estimate less noisy.

    No gradient passes through r and b. Let J_1 be the loss, let the log-likelihood be the reward, and let alpha be 0.
    The gradient of J_1 - J_2 is then an unbiased estimate of the gradient of E[J_1] for the policy's parameters. If
    ``config.gradient`` is "network", this holds for all parameters. Otherwise the network's gradient lacks the effect
    of its states on the choices. Call ``begin`` at the start of each epoch, since alpha may decay.
    """

    alpha_R: Tensor
    """The alpha of each lane, on the device because captured steps cannot read changing numbers of the host."""
    average_R: Tensor
    weight_R: Tensor

    def __init__(self, config: DynamicSkipConfig, lanes: Sequence[Lane]) -> None:
        super().__init__()
        self.config = config
        self.weights_R = rates(config.entropy_weight, [lane.entropy_weight for lane in lanes])
        self.decays_R = rates(config.entropy_decay, [lane.entropy_decay for lane in lanes])
        # Always float64, whatever the network's precision. Not saved with the weights: alpha comes from the config.
        self.register_buffer("alpha_R", torch.as_tensor(np.array(self.weights_R, dtype=np.float64)), persistent=False)
        self.register_buffer("average_R", torch.zeros(len(lanes)))
        self.register_buffer("weight_R", torch.zeros(len(lanes)))

    def begin(self, epoch: int) -> None:
        """Starts an epoch, counted from 0: sets alpha."""
        alphas_R = [weight * decay**epoch for weight, decay in zip(self.weights_R, self.decays_R, strict=True)]
        self.alpha_R.copy_(torch.tensor(alphas_R, dtype=torch.float64))

    def forward(self, made: Sequence[Made], rewards: Rewards, lengths_RB: Tensor) -> Tensor:
        """Returns a number for each sentence, objective_RB. Its gradient is the gradient in the class's docstring; its
        value is arbitrary. In training, the rewards also update the baseline of later calls.
        """
        surplus_RUB = (rewards.earned_RUB - self._baseline().view(-1, 1, 1) * rewards.counts_RUB).detach()
        if self.training:
            self._take_in(rewards)
        objective_RB = torch.zeros_like(surplus_RUB[:, 0])
        alpha_R111 = self.alpha_R.to(objective_RB.dtype).view(-1, 1, 1, 1)
        for each in made:
            log_GTBJ = each.choices.log_probabilities()
            taken_GTB = log_GTBJ.gather(-1, each.choices.back_GTB.unsqueeze(-1)).squeeze(-1)
            entropy_GTB = -(log_GTBJ.exp() * log_GTBJ).sum(dim=-1)
            taken_RDTB, entropy_RDTB = (
                part.view(len(lengths_RB), -1, *part.shape[1:]) for part in (taken_GTB, entropy_GTB)
            )
            joint = surplus_RUB.shape[1] < taken_RDTB.shape[2]
            whole = each.seen_before or joint or not self.config.reward_to_go
            credit_RDTB = (
                surplus_RUB.sum(dim=1)[:, None, None]
                if whole
                else _from_here_on(surplus_RUB, lengths_RB, taken_RDTB.shape[1])
            )
            objective_RB = objective_RB + _over_time(taken_RDTB * credit_RDTB + alpha_R111 * entropy_RDTB, lengths_RB)
        return objective_RB

    def _baseline(self) -> Tensor:
        """Returns the baseline b of each lane; 0 before the first update: baseline_R."""
        return torch.where(self.weight_R > 0, self.average_R / self.weight_R, 0)

    def _take_in(self, rewards: Rewards) -> None:
        if self.config.baseline == "moving_average":
            self.average_R.lerp_(rewards.earned_RUB.sum(dim=1).mean(dim=1), 1 - DECAY)
            self.weight_R.lerp_(rewards.counts_RUB.sum(dim=1).mean(dim=1), 1 - DECAY)


def _from_here_on(surplus_RTB: Tensor, lengths_RB: Tensor, directions: int) -> Tensor:
    """Sums the surplus (reward minus baseline) of each step and all later steps, in reading order: sum_RDTB."""
    surplus_RDTB = surplus_RTB.unsqueeze(1)
    if directions == 2:
        order = ReadingOrder(lengths_RB, surplus_RTB.shape[1])
        surplus_RDTB = order.apart(surplus_RTB.unsqueeze(-1)).view(-1, 2, *surplus_RTB.shape[1:])
    return surplus_RDTB.flip(2).cumsum(dim=2).flip(2)


def _over_time(values_RDTB: Tensor, lengths_RB: Tensor) -> Tensor:
    """Sums over directions and time steps, without padding: sum_RB."""
    time_T1 = torch.arange(values_RDTB.shape[2], device=values_RDTB.device).unsqueeze(1)
    inside_R1TB = (time_T1 < lengths_RB.unsqueeze(1)).unsqueeze(1)
    return values_RDTB.where(inside_R1TB, 0).sum(dim=(1, 2))
