"""The policy, which chooses the earlier state that each step reads.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences, I inputs from
the layer below, H hidden units of the layer, M hidden units of the policy, J last states that a step may read (K in the
paper).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from skipstack.models.ground.parameters import BIAS, WEIGHT, parameter
from skipstack.models.kernels.layers import project
from skipstack.models.kernels.skip_loop import Choose
from skipstack.models.layers.layer import LayerSizes


class Policy(nn.Module):
    """The policy of gui2019: a perceptron with a softmax over the J last states, the latest first.

    p_t = softmax(V tanh(W [h_{t-1}; x_t] + b) + d)         (gui2019 eq. 1)

    The paper's MLP has one hidden layer of 50 units. The paper does not specify the activation; ours is tanh.
    """

    def __init__(self, sizes: LayerSizes, *, units: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.below = parameter(*sizes.groups, sizes.below, units, role=WEIGHT)
        self.previous = parameter(*sizes.groups, sizes.hidden, units, role=WEIGHT)
        self.bias = parameter(*sizes.groups, units, role=BIAS)
        self.output = parameter(*sizes.groups, units, self.outputs(), role=WEIGHT)
        self.bias_output = parameter(*sizes.groups, reach, role=BIAS)

    def outputs(self) -> int:
        """Returns the number of outputs of the perceptron."""
        return self.reach

    @torch.no_grad()
    def prefer_previous(self, bias: float) -> None:
        """Adds ``bias`` to the bias of the previous state's logit."""
        self.bias_output[..., 0] += bias

    def logits(self, below_GTBI: Tensor, before_GTBH: Tensor, first: int = 0) -> Tensor:
        """Computes the logits of all steps at once: logits_GTBJ. ``below_GTBI``: x_t. ``before_GTBH``: h_{t-1}.
        ``first``: the position in the text of the first step.
        """
        hidden_GTBM = project(below_GTBI, self.below, self.bias) + project(before_GTBH, self.previous)
        return self.scores(torch.tanh(hidden_GTBM), first)

    def scores(self, hidden_GTBM: Tensor, first: int) -> Tensor:
        """Computes the logits from the hidden units: logits_GTBJ. ``first``: the first step's position in the text."""
        return project(hidden_GTBM, self.output, self.bias_output)

    def score_weights(self, steps: int) -> Sequence[Tensor]:
        """Returns V, the weights from hidden units to logits, for each of the first ``steps`` steps: weight_GMJ."""
        return [self.output.flatten(0, 1)] * steps

    def log_probabilities(self, below_GTBI: Tensor, before_GTBH: Tensor) -> Tensor:
        """Computes the logarithm of p_t for all steps at once, with the gradient of the policy: log_GTBJ."""
        return self.logits(below_GTBI, before_GTBH).log_softmax(dim=-1)

    @torch.no_grad()
    def chooser(self, below_GTBI: Tensor, noise_GTBJ: Tensor | None) -> Choose:
        """Returns a function that makes each step's choice. If ``noise_GTBJ`` is Gumbel noise, to be added to the
        logits, the choice is a sample of p_t. If it is None, the choice is the likeliest state.
        """
        known_TGBM = project(below_GTBI, self.below, self.bias).transpose(0, 1).unbind()
        previous_GHM, weights = self.previous.flatten(0, 1), self.score_weights(below_GTBI.shape[1])
        bias_GTBJ = self.bias_output.flatten(0, 1)[:, None, None].expand(-1, *below_GTBI.shape[1:3], -1)
        added_TGBJ = (bias_GTBJ if noise_GTBJ is None else bias_GTBJ + noise_GTBJ).transpose(0, 1).unbind()

        def choose(step: int, before_GBH: Tensor) -> Tensor:
            hidden_GBM = torch.baddbmm(known_TGBM[step], before_GBH, previous_GHM).tanh_()
            return torch.baddbmm(added_TGBJ[step], hidden_GBM, weights[step]).argmax(dim=-1)

        return choose
