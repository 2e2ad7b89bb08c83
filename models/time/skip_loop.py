"""An LSTM through time that reads earlier states of its own choice, with its backward pass written out.

X = 4H, S = J + T: all states, those before the first step included.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.products import add_product_, step_weight, transposed, weight_gradient
from skipstack.models.time.lstm_loop import factors

Choose = Callable[[int, Tensor], Tensor]
"""From the step and h_{t-1}, before_GBH, to how many states further back than that one is read: back_GB, 0 to J-1."""


class SkipLoop(torch.autograd.Function):
    """The states of an LSTM over [h^; c^] = lambda [h; c]_{t-a} + (1 - lambda) [h; c]_{t-1}, a = back + 1

    (i, f, o, s) = (sigm, sigm, sigm, tanh)(pre_t + U h^),   c_t = f c^ + i s,   h_t = o tanh(c_t)      (gui2019 eq. 2)

    All states stand in one ring of rows, from which the chosen ones are gathered. With a' for the gradient of a,
    backward from the last step, and [h; c]' whole once all later steps have added to it:
    d_t = c_t' + h_t' o (1 - tanh^2 c_t)
    pre_t' = (d_t s i (1 - i),  d_t c^ f (1 - f),  h_t' tanh(c_t) o (1 - o),  d_t i (1 - s^2))
    [h^; c^]' = [U^T pre_t'; d_t f], of which [h; c]_{t-a}' takes lambda, and [h; c]_{t-1}' takes 1 - lambda.
    """

    @staticmethod
    def forward(
        ctx: Any, pre_GTBX: Tensor, weight_GHX: Tensor, start_JGBY: Tensor, share_G: Tensor, choose: Choose
    ) -> tuple[Tensor, Tensor]:
        """All states, state_SGBY with ``start_JGBY`` first, and the choices, back_TGB; pre is left as it is."""
        reach, groups, sentences, both = start_JGBY.shape
        hidden = both // 2
        gates_TGBX = pre_GTBX.transpose(0, 1).clone(memory_format=torch.contiguous_format)
        steps = len(gates_TGBX)
        state_SGBY = gates_TGBX.new_empty(reach + steps, groups, sentences, both)
        state_SGBY[:reach] = start_JGBY
        mixed_TGBY = gates_TGBX.new_empty(steps, groups, sentences, both)
        tanh_TGBH = gates_TGBX.new_empty(steps, groups, sentences, hidden)
        step_GHX = step_weight(weight_GHX, sentences)
        row_TGB = torch.empty(steps, groups, sentences, dtype=torch.long, device=pre_GTBX.device)
        sigmoids, s = (part.unbind() for part in torch.split(gates_TGBX, [3 * hidden, hidden], dim=-1))
        i, f, o, _ = (part.unbind() for part in torch.split(gates_TGBX, hidden, dim=-1))
        h, c = (part.unbind() for part in torch.split(state_SGBY, hidden, dim=-1))
        mixed_h, mixed_c = (part.unbind() for part in torch.split(mixed_TGBY, hidden, dim=-1))
        pre, tanh, rows, share_G11 = gates_TGBX.unbind(), tanh_TGBH.unbind(), row_TGB.unbind(), share_G.view(-1, 1, 1)
        place_GB = torch.arange(groups * sentences, device=pre_GTBX.device).view(groups, sentences)
        state_NY = state_SGBY.view(-1, both)
        for t in range(steps):
            last = reach - 1 + t
            torch.sub(place_GB + last * place_GB.numel(), choose(t, h[last]), alpha=place_GB.numel(), out=rows[t])
            chosen_GBY = state_NY.index_select(0, rows[t].flatten()).view(groups, sentences, both)
            torch.lerp(state_SGBY[last], chosen_GBY, share_G11, out=mixed_TGBY[t])
            add_product_(pre[t], mixed_h[t], step_GHX)
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.mul(f[t], mixed_c[t], out=c[last + 1]).addcmul_(i[t], s[t])
            torch.mul(o[t], torch.tanh(c[last + 1], out=tanh[t]), out=h[last + 1])
        ctx.save_for_backward(step_GHX, gates_TGBX, mixed_TGBY, tanh_TGBH, row_TGB, share_G)
        ctx.reach = reach
        last_T11 = torch.arange(reach - 1, reach - 1 + steps, device=pre_GTBX.device).view(-1, 1, 1)
        back_TGB = last_T11 - row_TGB.div(place_GB.numel(), rounding_mode="floor")
        ctx.mark_non_differentiable(back_TGB)
        return state_SGBY, back_TGB

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_SGBY: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """The gradients of pre, U and the states before the first step."""
        step_GHX, gates_TGBX, mixed_TGBY, tanh_TGBH, row_TGB, share_G = ctx.saved_tensors
        steps, groups, sentences, width = gates_TGBX.shape
        hidden, reach, share_G11 = width // 4, ctx.reach, share_G.view(-1, 1, 1)
        to_cell, factor, forget = (part.unbind() for part in factors(gates_TGBX, mixed_TGBY[..., hidden:], tanh_TGBH))
        pre_TGBX = torch.empty_like(gates_TGBX)
        pre, pre_by_gate = pre_TGBX.unbind(), pre_TGBX.view(steps, groups, sentences, 4, hidden).unbind()
        state_SGBY = to_SGBY.clone(memory_format=torch.contiguous_format)
        state_NY, rows = state_SGBY.view(-1, 2 * hidden), row_TGB.flatten(1).unbind()
        h, c = (part.unbind() for part in torch.split(state_SGBY, hidden, dim=-1))
        transposed_GXH, mixed_GBY = transposed(step_GHX), torch.empty_like(state_SGBY[0])
        mixed_h, mixed_c = torch.split(mixed_GBY, hidden, dim=-1)
        for t in reversed(range(steps)):
            now = reach + t
            d_GBH = torch.addcmul(c[now], h[now], to_cell[t])
            torch.mul(factor[t], d_GBH.unsqueeze(2), out=pre_by_gate[t])
            torch.mul(factor[t][:, :, 2], h[now], out=pre_by_gate[t][:, :, 2])
            mixed_h.copy_(torch.bmm(pre[t].to(transposed_GXH.dtype), transposed_GXH))
            torch.mul(d_GBH, forget[t], out=mixed_c)
            chosen_GBY = mixed_GBY * share_G11
            state_SGBY[now - 1] += mixed_GBY - chosen_GBY
            # No row is chosen twice in a step, so reading, adding and writing back is adding.
            rows_NY = state_NY.index_select(0, rows[t]).add_(chosen_GBY.view(-1, 2 * hidden))
            state_NY.index_copy_(0, rows[t], rows_NY)
        pre_GTBX = pre_TGBX.transpose(0, 1).contiguous()
        read_GTBH = mixed_TGBY[..., :hidden].transpose(0, 1)
        weight = weight_gradient(read_GTBH.flatten(1, 2), pre_GTBX.flatten(1, 2), step_GHX)
        return pre_GTBX, weight, state_SGBY[:reach], None, None
