"""LSTM layers that skip: dynamically, by a fixed distance, or by attention.

Shapes: R lanes, D directions, G = R * D, T time, B sentences, I numbers below, H hidden, K states that may be chosen,
S = K + T, Y = 2H: a state [h; c].
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from skipstack.models.cells.lstm import LstmCell
from skipstack.models.lanes import Streams
from skipstack.models.skips.config import AttentionSkipConfig, DynamicSkipConfig, FixedSkipConfig
from skipstack.models.skips.places import PlacePolicy
from skipstack.models.skips.policy import Choices, Policy
from skipstack.models.time.cell import HiddenState, LayerSizes
from skipstack.models.time.layer import Unrolled
from skipstack.models.time.skip_loop import SkipLoop


class FixedSkipLstm(nn.Module):
    """The LSTM over [h; c]_{t-k}. States before the first step are zero, as in all of these layers."""

    def __init__(self, sizes: LayerSizes, config: FixedSkipConfig) -> None:
        super().__init__()
        self.cell = LstmCell(sizes)
        self.reach = config.reach
        self.features = self.cell.features

    def unrolled(self, below_GTBI: Tensor, start_KGBY: Tensor | None = None) -> Unrolled:
        """The layer over all time steps."""
        (pre_GTBX,) = self.cell.project(below_GTBI, None)
        start_KGBY = nothing_yet(self.reach, pre_GTBX) if start_KGBY is None else start_KGBY
        back_GB = torch.full(start_KGBY.shape[1:3], self.reach - 1, device=pre_GTBX.device)
        share_G = pre_GTBX.new_ones(len(pre_GTBX))
        state_SGBY, _ = SkipLoop.apply(  # type: ignore[no-untyped-call]
            pre_GTBX, self.cell.recurrent_weight(), start_KGBY, share_G, lambda step, before_GBH: back_GB
        )
        back_GTB = back_GB.unsqueeze(1).expand(pre_GTBX.shape[:3])
        read = partial(_read, back_GTB, share_G, self.reach)
        last_KGBY = state_SGBY[-self.reach :].detach()
        return Unrolled(_outputs(state_SGBY, self.reach), pre_GTBX, read=read, last=last_KGBY)


class DynamicSkipLstm(nn.Module):
    """The LSTM over lambda [h; c]_{t-a} + (1 - lambda) [h; c]_{t-1}, a ~ p_t (gui2019; ``models/time/skip_loop.py``)."""

    def __init__(
        self, sizes: LayerSizes, config: DynamicSkipConfig, shares_R: Sequence[float], streams: Streams
    ) -> None:
        super().__init__()
        self.cell = LstmCell(sizes)
        self.policy = policy_of(config, sizes)
        self.config = config
        self.shares_R = tuple(shares_R)
        self.streams = streams
        self.features = self.cell.features

    def unrolled(self, below_GTBI: Tensor, start_KGBY: Tensor | None = None) -> Unrolled:
        """The layer over all time steps, and what was chosen at each."""
        (pre_GTBX,) = self.cell.project(below_GTBI, None)
        start_KGBY = nothing_yet(self.config.reach, pre_GTBX) if start_KGBY is None else start_KGBY
        directions = len(pre_GTBX) // len(self.shares_R)
        share_G = pre_GTBX.new_tensor(self.shares_R).repeat_interleave(directions)
        choose = self.policy.chooser(below_GTBI, self._noise(pre_GTBX))
        state_SGBY, back_TGB = SkipLoop.apply(  # type: ignore[no-untyped-call]
            pre_GTBX, self.cell.recurrent_weight(), start_KGBY, share_G, choose
        )
        before_GTBH = state_SGBY[self.config.reach - 1 : -1, ..., : self.cell.hidden].transpose(0, 1)
        if self.config.gradient == "policy":
            below_GTBI, before_GTBH = below_GTBI.detach(), before_GTBH.detach()
        choices = Choices(self.policy, below_GTBI, before_GTBH, back_TGB.transpose(0, 1))
        read = partial(_read, choices.back_GTB, share_G, self.config.reach)
        last_KGBY = state_SGBY[-self.config.reach :].detach()
        return Unrolled(_outputs(state_SGBY, self.config.reach), pre_GTBX, choices, read, last_KGBY)

    def _noise(self, pre_GTBX: Tensor) -> Tensor | None:
        """-log(-log u), u uniform in (0, 1): noise_GTBK; None where nothing is drawn."""
        if not self.training and self.config.test_action == "argmax":
            return None
        lanes, reach = len(self.shares_R), self.config.reach
        like_RDTBK = pre_GTBX.new_empty((lanes, len(pre_GTBX) // lanes, *pre_GTBX.shape[1:3], reach))
        uniform_RDTBK = self.streams.uniform(like_RDTBK).clamp_(min=torch.finfo(pre_GTBX.dtype).tiny)
        return -torch.log(-torch.log(uniform_RDTBK)).flatten(0, 1)


class AttentionSkipLstm(nn.Module):
    """The LSTM over sum_k p_k [h; c]_{t-k}, k = 1 ... K: the policy's distribution as weights, learnt by gradient.

    The paper's "LSTM with attention", which it describes only as an expectation over the features (its eq. 9).
    """

    def __init__(self, sizes: LayerSizes, config: AttentionSkipConfig) -> None:
        super().__init__()
        self.cell = LstmCell(sizes)
        self.policy = policy_of(config, sizes)
        self.reach = config.reach
        self.features = self.cell.features

    def unrolled(self, below_GTBI: Tensor, start_KGBY: Tensor | None = None) -> Unrolled:
        """The layer over all time steps."""
        (pre_GTBX,) = self.cell.project(below_GTBI, None)
        read = []
        weight_GHX, hidden = self.cell.recurrent_weight(), self.cell.hidden
        start_KGBY = nothing_yet(self.reach, pre_GTBX) if start_KGBY is None else start_KGBY
        states_GBY = list(start_KGBY.unbind())
        for step in range(pre_GTBX.shape[1]):
            before_G1BH = states_GBY[-1][..., :hidden].unsqueeze(1)
            logits_G1BK = self.policy.logits(below_GTBI[:, step : step + 1], before_G1BH, first=step)
            p_GBK = logits_G1BK.squeeze(1).softmax(dim=-1)
            read.append(p_GBK)
            latest_GBKY = torch.stack(states_GBY[: -self.reach - 1 : -1], dim=2)
            mixed_GBY = (p_GBK.unsqueeze(2) @ latest_GBKY).squeeze(2)
            pre_GBX = torch.baddbmm(pre_GTBX[:, step], mixed_GBY[..., :hidden], weight_GHX)
            state = self.cell.step(pre_GBX, (), HiddenState(*mixed_GBY.chunk(2, dim=-1)))
            assert state.c_GBH is not None
            states_GBY.append(torch.cat([state.h_GBF, state.c_GBH], dim=-1))
        output_GTBH = torch.stack([state_GBY[..., :hidden] for state_GBY in states_GBY[self.reach :]], dim=1)
        last_KGBY = torch.stack(states_GBY[-self.reach :]).detach()
        return Unrolled(output_GTBH, pre_GTBX, read=partial(torch.stack, read, dim=1), last=last_KGBY)


SkipLayer = FixedSkipLstm | DynamicSkipLstm | AttentionSkipLstm


def policy_of(config: AttentionSkipConfig | DynamicSkipConfig, sizes: LayerSizes) -> Policy:
    """The policy that a config asks for."""
    kind = PlacePolicy if config.addressing == "place" else Policy
    return kind(sizes, units=config.policy_hidden, reach=config.reach)


def nothing_yet(reach: int, like_GTBX: Tensor) -> Tensor:
    """The K states before the first step: start_KGBY of zeros."""
    groups, _, sentences, width = like_GTBX.shape
    return like_GTBX.new_zeros(reach, groups, sentences, width // 2)


def _read(back_GTB: Tensor, share_G: Tensor, reach: int) -> Tensor:
    """How much of each of the K last states a step read: lambda of the chosen one, the rest of the previous."""
    read_GTBK = share_G.new_zeros(*back_GTB.shape, reach)
    read_GTBK[..., 0] = 1 - share_G.view(-1, 1, 1)
    share_GTB1 = share_G.view(-1, 1, 1, 1).expand(*back_GTB.shape, 1)
    return read_GTBK.scatter_add_(-1, back_GTB.unsqueeze(-1), share_GTB1)


def _outputs(state_SGBY: Tensor, reach: int) -> Tensor:
    return state_SGBY[reach:, ..., : state_SGBY.shape[-1] // 2].transpose(0, 1)
