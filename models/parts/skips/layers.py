"""LSTM layers that skip back in time: dynamically, by a fixed distance, or by attention.

Axes: R lanes (a lane is one seed's copy of the network), D directions, G groups = R * D, T time steps, J last states
that a step may read, S = J + T states, B sentences, I inputs from the layer below, H hidden units, X pre-activations,
Y = 2H numbers of a state [h; c].
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import assert_never

import numpy as np
import torch
from torch import Tensor

from skipstack.models.configs.skips import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig, SkipConfig
from skipstack.models.kernels.skip_loop import Choose, SkipLoop
from skipstack.models.layers.cell import HiddenState
from skipstack.models.layers.lanes import Lane, Streams, rates
from skipstack.models.layers.layer import Choices, Layer, LayerSizes, Unrolled
from skipstack.models.parts.cells.lstm import LstmCell
from skipstack.models.parts.skips.places import PlacePolicy
from skipstack.models.parts.skips.policy import Policy


class SkipLayer(Layer):
    """The base class of LSTMs in which each step reads a mixture of the J last states. States before the first step are
    zero, unless they are carried over from the previous part of a longer text.
    """

    def __init__(self, sizes: LayerSizes, reach: int) -> None:
        """Creates the LSTM. ``reach`` is J."""
        super().__init__()
        self.cell = LstmCell(sizes)
        self.features = self.cell.features
        self.reach = reach

    def run(self, below_GTBI: Tensor, skipped_GTBH: Tensor | None = None, start: Tensor | None = None) -> Unrolled:
        """Runs all time steps. In the result, ``read`` computes each step's weights of the J last states, and ``last``
        holds the J final states, which the next call takes as ``start``.
        """
        (pre_GTBX,) = self.cell.project(below_GTBI, skipped_GTBH)
        if start is None:
            groups, _, sentences, width = pre_GTBX.shape
            start = pre_GTBX.new_zeros(self.reach, groups, sentences, width // 2)
        return self.loop(below_GTBI, pre_GTBX, start)

    @abstractmethod
    def loop(self, below_GTBI: Tensor, pre_GTBX: Tensor, start_JGBY: Tensor) -> Unrolled:
        """Runs all steps. ``pre_GTBX``: W x + b, without U h. ``start_JGBY``: the J states before the first step."""

    def chosen(
        self, pre_GTBX: Tensor, start_JGBY: Tensor, share_G: Tensor, choose: Choose
    ) -> tuple[Tensor, Tensor, partial[Tensor]]:
        """Runs step by step. Each step reads two states: the state that ``choose`` selects, weighted by ``share_G``,
        and the previous state, weighted by 1 - ``share_G``.

        Returns state_SGBY, the choices back_GTB, and a function that computes each step's weights of the J last states,
        read_GTBJ.
        """
        state_SGBY, back_TGB = SkipLoop.apply(  # type: ignore[no-untyped-call]
            pre_GTBX, self.cell.recurrent_weight(), start_JGBY, share_G, choose
        )
        back_GTB = back_TGB.transpose(0, 1)
        return state_SGBY, back_GTB, partial(_read, back_GTB, share_G, self.reach)

    def outputs(self, state_SGBY: Tensor) -> Tensor:
        """Returns the outputs h of all time steps: output_GTBH."""
        return state_SGBY[self.reach :, ..., : self.cell.hidden].transpose(0, 1)


class FixedSkipLstm(SkipLayer):
    """An LSTM that reads lambda [h; c]_{t-k} + (1 - lambda) [h; c]_{t-1}, with constant k and lambda."""

    def __init__(self, sizes: LayerSizes, config: FixedSkipConfig) -> None:
        super().__init__(sizes, config.reach)
        self.share = 1 - config.previous_share

    def loop(self, below_GTBI: Tensor, pre_GTBX: Tensor, start_JGBY: Tensor) -> Unrolled:
        """Runs all steps. The chosen state is always the earliest of the J = k last states."""
        back_GB = torch.full(start_JGBY.shape[1:3], self.reach - 1, device=pre_GTBX.device)
        share_G = pre_GTBX.new_full((len(pre_GTBX),), self.share)
        state_SGBY, _, read = self.chosen(pre_GTBX, start_JGBY, share_G, lambda step, before_GBH: back_GB)
        return Unrolled(self.outputs(state_SGBY), pre_GTBX, read=read, last=state_SGBY[-self.reach :].detach())


class DynamicSkipLstm(SkipLayer):
    """An LSTM that reads lambda [h; c]_{t-a} + (1 - lambda) [h; c]_{t-1} (gui2019; ``SkipLoop``). At each step a policy
    draws a ~ p_t. Outside of training the policy takes the likeliest a, unless ``test_action`` is ``sample``.
    """

    shares_R: Tensor

    def __init__(
        self, sizes: LayerSizes, config: DynamicSkipConfig, shares_R: Sequence[float], streams: Streams
    ) -> None:
        super().__init__(sizes, config.reach)
        self.policy = policy_of(config, sizes)
        self.config = config
        # Always float64, whatever the network's precision. Not saved with the weights: shares come from the config.
        self.register_buffer("shares_R", torch.as_tensor(np.array(shares_R, dtype=np.float64)), persistent=False)
        self.streams = streams

    def loop(self, below_GTBI: Tensor, pre_GTBX: Tensor, start_JGBY: Tensor) -> Unrolled:
        """Runs all steps with the policy's choices. The result keeps the policy's inputs, from which ``Choices`` later
        computes log-probabilities with the policy's gradient.
        """
        directions = len(pre_GTBX) // len(self.shares_R)
        share_G = self.shares_R.to(pre_GTBX.dtype).repeat_interleave(directions)
        choose = self.policy.chooser(below_GTBI, self._noise(pre_GTBX))
        state_SGBY, back_GTB, read = self.chosen(pre_GTBX, start_JGBY, share_G, choose)
        before_GTBH = state_SGBY[self.reach - 1 : -1, ..., : self.cell.hidden].transpose(0, 1)
        if self.config.gradient == "policy":
            below_GTBI, before_GTBH = below_GTBI.detach(), before_GTBH.detach()
        choices = Choices(back_GTB, partial(self.policy.log_probabilities, below_GTBI, before_GTBH))
        return Unrolled(self.outputs(state_SGBY), pre_GTBX, choices, read, state_SGBY[-self.reach :].detach())

    def _noise(self, pre_GTBX: Tensor) -> Tensor | None:
        """Draws Gumbel noise to sample the choices, noise_GTBJ; None if the likeliest states are to be chosen."""
        if not self.training and self.config.test_action == "argmax":
            return None
        lanes = len(self.shares_R)
        like_RDTBJ = pre_GTBX.new_empty((lanes, len(pre_GTBX) // lanes, *pre_GTBX.shape[1:3], self.reach))
        uniform_RDTBJ = self.streams.uniform(like_RDTBJ).clamp_(min=torch.finfo(pre_GTBX.dtype).tiny)
        return -torch.log(-torch.log(uniform_RDTBJ)).flatten(0, 1)


class AttentionSkipLstm(SkipLayer):
    """An LSTM that reads sum_k p_k [h; c]_{t-k}, k = 1 ... J: the "LSTM with attention" of gui2019, which the paper
    describes only as an expectation over the features (eq. 9).

    The weights p are the output of a ``Policy``, which is trained by the gradient of the loss, not by REINFORCE.
    """

    def __init__(self, sizes: LayerSizes, config: AttentionSkipConfig) -> None:
        super().__init__(sizes, config.reach)
        self.policy = policy_of(config, sizes)

    def loop(self, below_GTBI: Tensor, pre_GTBX: Tensor, start_JGBY: Tensor) -> Unrolled:
        """Runs all steps by torch operations, so that autograd computes the gradient."""
        read, states_GBY = [], list(start_JGBY.unbind())
        weight_GHX, hidden = self.cell.recurrent_weight(), self.cell.hidden
        for step in range(pre_GTBX.shape[1]):
            before_G1BH = states_GBY[-1][..., :hidden].unsqueeze(1)
            logits_G1BJ = self.policy.logits(below_GTBI[:, step : step + 1], before_G1BH, first=step)
            p_GBJ = logits_G1BJ.squeeze(1).softmax(dim=-1)
            read.append(p_GBJ)
            latest_GBJY = torch.stack(states_GBY[: -self.reach - 1 : -1], dim=2)
            mixed_GBY = (p_GBJ.unsqueeze(2) @ latest_GBJY).squeeze(2)
            pre_GBX = torch.baddbmm(pre_GTBX[:, step], mixed_GBY[..., :hidden], weight_GHX)
            state = self.cell.step(pre_GBX, (), HiddenState(*mixed_GBY.chunk(2, dim=-1)))
            assert state.c_GBH is not None
            states_GBY.append(torch.cat([state.h_GBF, state.c_GBH], dim=-1))
        output_GTBH = torch.stack([state_GBY[..., :hidden] for state_GBY in states_GBY[self.reach :]], dim=1)
        last_JGBY = torch.stack(states_GBY[-self.reach :]).detach()
        return Unrolled(output_GTBH, pre_GTBX, read=partial(torch.stack, read, dim=1), last=last_JGBY)


def build_skip(config: SkipConfig, sizes: LayerSizes, lanes: Sequence[Lane], streams: Streams) -> SkipLayer:
    """Builds the layer for a config of a skip."""
    match config:
        case FixedSkipConfig():
            return FixedSkipLstm(sizes, config)
        case AttentionSkipConfig():
            return AttentionSkipLstm(sizes, config)
        case DynamicSkipConfig():
            return DynamicSkipLstm(sizes, config, rates(config.share, [lane.skip_share for lane in lanes]), streams)
        case _:
            assert_never(config)


def policy_of(config: AttentionSkipConfig | DynamicSkipConfig, sizes: LayerSizes) -> Policy:
    """Builds the policy for a config."""
    kind = PlacePolicy if config.addressing == "place" else Policy
    return kind(sizes, units=config.policy_hidden, reach=config.reach)


def _read(back_GTB: Tensor, share_G: Tensor, reach: int) -> Tensor:
    """Computes each step's weights of the J last states, read_GTBJ: ``share_G`` for the chosen state, plus 1 -
    ``share_G`` for the previous state.
    """
    read_GTBJ = share_G.new_zeros(*back_GTB.shape, reach)
    read_GTBJ[..., 0] = 1 - share_G.view(-1, 1, 1)
    share_GTB1 = share_G.view(-1, 1, 1, 1).expand(*back_GTB.shape, 1)
    return read_GTBJ.scatter_add_(-1, back_GTB.unsqueeze(-1), share_GTB1)
