"""An LSTM through time that reads earlier states of its own choice, with its backward pass written out.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, J last states that a step
may read, S = J + T states, B sentences, H hidden units, X = 4H pre-activations, Y = 2H entries of a state [h; c].
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.products import plus_product, step_weight, transposed, weight_gradient

Choose = Callable[[int, Tensor], Tensor]
"""A function from the step and h_{t-1} to the chosen states: back_GB, their distances before h_{t-1}, 0 to J - 1."""


@multiplies
class SkipLoop(torch.autograd.Function):
    """Computes the states of an LSTM that reads [h^; c^] = lambda [h; c]_{t-a} + (1 - lambda) [h; c]_{t-1}:

    (i, f, o, s) = (sigm, sigm, sigm, tanh)(pre_t + U h^),   c_t = f c^ + i s,   h_t = o tanh(c_t)      (gui2019 eq. 2)

    Here a = back + 1, and lambda is ``share``. All states are rows of one array, from which the chosen states are
    gathered. The backward pass runs from the last step to the first. x' is the gradient of x. At step t, [h; c]_t'
    already includes the gradients from all later steps:
    d_t = c_t' + h_t' o (1 - tanh^2 c_t)
    pre_t' = (d_t s i (1 - i),  d_t c^ f (1 - f),  h_t' tanh(c_t) o (1 - o),  d_t i (1 - s^2))
    [h^; c^]' = [U^T pre_t'; d_t f]
    Then lambda [h^; c^]' is added to [h; c]_{t-a}', and (1 - lambda) [h^; c^]' to [h; c]_{t-1}'.
    """

    @staticmethod
    def forward(
        ctx: Any, pre_GTBX: Tensor, weight_GHX: Tensor, start_JGBY: Tensor, share_G: Tensor, choose: Choose
    ) -> tuple[Tensor, Tensor]:
        """Returns all states, state_SGBY, of which the first J are ``start_JGBY``, and the choices, back_TGB."""
        gates_GTBX, (reach, groups, sentences, both) = torch.empty_like(pre_GTBX), start_JGBY.shape
        hidden, steps = both // 2, gates_GTBX.shape[1]
        state_SGBY = gates_GTBX.new_empty(reach + steps, groups, sentences, both)
        state_SGBY[:reach] = start_JGBY
        mixed_GTBY = gates_GTBX.new_empty(groups, steps, sentences, both)
        tanh_GTBH = gates_GTBX.new_empty(groups, steps, sentences, hidden)
        step_GHX = step_weight(weight_GHX, sentences)
        row_TGB = torch.empty(steps, groups, sentences, dtype=torch.long, device=gates_GTBX.device)
        sigmoids = gates_GTBX[..., : 3 * hidden].unbind(1)
        i, f, o, s = (part.unbind(1) for part in torch.split(gates_GTBX, hidden, dim=-1))
        h, c = (part.unbind() for part in torch.split(state_SGBY, hidden, dim=-1))
        mixed_h, mixed_c = (part.unbind(1) for part in torch.split(mixed_GTBY, hidden, dim=-1))
        pre, gates, mixed, tanh = (each.unbind(1) for each in (pre_GTBX, gates_GTBX, mixed_GTBY, tanh_GTBH))
        rows, share_G11 = row_TGB.unbind(), share_G.view(-1, 1, 1)
        place_GB = torch.arange(groups * sentences, device=gates_GTBX.device).view(groups, sentences)
        state_NY = state_SGBY.view(-1, both)
        for t in range(steps):
            last = reach - 1 + t
            torch.sub(place_GB + last * place_GB.numel(), choose(t, h[last]), alpha=place_GB.numel(), out=rows[t])
            chosen_GBY = state_NY.index_select(0, rows[t].flatten()).view(groups, sentences, both)
            torch.lerp(state_SGBY[last], chosen_GBY, share_G11, out=mixed[t])
            plus_product(pre[t], mixed_h[t], step_GHX, out=gates[t])
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.mul(f[t], mixed_c[t], out=c[last + 1]).addcmul_(i[t], s[t])
            torch.mul(o[t], torch.tanh(c[last + 1], out=tanh[t]), out=h[last + 1])
        ctx.save_for_backward(step_GHX, gates_GTBX, mixed_GTBY, tanh_GTBH, row_TGB, share_G)
        ctx.reach = reach
        last_T11 = torch.arange(reach - 1, reach - 1 + steps, device=gates_GTBX.device).view(-1, 1, 1)
        back_TGB = last_T11 - row_TGB.div(place_GB.numel(), rounding_mode="floor")
        ctx.mark_non_differentiable(back_TGB)
        return state_SGBY, back_TGB

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_SGBY: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Returns the gradients of the pre-activations, of U and of the states before the first step."""
        step_GHX, gates_GTBX, mixed_GTBY, tanh_GTBH, row_TGB, share_G = ctx.saved_tensors
        hidden, reach, share_G11 = tanh_GTBH.shape[-1], ctx.reach, share_G.view(-1, 1, 1)
        to_cell_GTBH, pre_GTB4H, of_output_GTBH, forget_GTBH = factors(gates_GTBX, mixed_GTBY[..., hidden:], tanh_GTBH)
        to_cell, of_output, forget = (part.unbind(1) for part in (to_cell_GTBH, of_output_GTBH, forget_GTBH))
        pre_GTBX = pre_GTB4H.flatten(-2)
        pre, by_gate, output = pre_GTBX.unbind(1), pre_GTB4H.unbind(1), pre_GTB4H.select(3, 2).unbind(1)
        state_SGBY = to_SGBY.clone(memory_format=torch.contiguous_format)
        state_NY, rows = state_SGBY.view(-1, 2 * hidden), row_TGB.flatten(1).unbind()
        h, c = (part.unbind() for part in torch.split(state_SGBY, hidden, dim=-1))
        transposed_GXH, mixed_GBY = transposed(step_GHX), torch.empty_like(state_SGBY[0])
        mixed_h, mixed_c = torch.split(mixed_GBY, hidden, dim=-1)
        for t in reversed(range(len(pre))):
            now = reach + t
            d_GBH = torch.addcmul(c[now], h[now], to_cell[t])
            by_gate[t].mul_(d_GBH.unsqueeze(2))
            torch.mul(of_output[t], h[now], out=output[t])
            mixed_h.copy_(torch.bmm(pre[t].to(transposed_GXH.dtype), transposed_GXH))
            torch.mul(d_GBH, forget[t], out=mixed_c)
            chosen_GBY = mixed_GBY * share_G11
            state_SGBY[now - 1] += mixed_GBY - chosen_GBY
            # No row is chosen twice in a step, so adding to copies of the rows loses nothing.
            rows_NY = state_NY.index_select(0, rows[t]).add_(chosen_GBY.view(-1, 2 * hidden))
            state_NY.index_copy_(0, rows[t], rows_NY)
        read_GTBH = mixed_GTBY[..., :hidden]
        weight_GHX = weight_gradient(read_GTBH.flatten(1, 2), pre_GTBX.flatten(1, 2), step_GHX)
        return pre_GTBX, weight_GHX, state_SGBY[:reach], None, None


def factors(gates_GTBX: Tensor, before_GTBH: Tensor, tanh_GTBH: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Computes the factors of an LSTM's gradients from the gates (i, f, o and s), from ``before_GTBH``, the internal
    state c that each step read, and from tanh(c_t).

    Returns four tensors:
    - o (1 - tanh^2 c_t), the factor from h' to c';
    - factor_GTB4H, the factors from c' to the pre-activations' gradients by gate: s i (1 - i), c f (1 - f), an unused
      number in the place of o, and i (1 - s^2);
    - tanh(c_t) o (1 - o), the factor from h' to the gradient of o's pre-activation;
    - f, the factor from c' to the gradient of the state that was read.
    """
    hidden = tanh_GTBH.shape[-1]
    i, f, o, s = torch.split(gates_GTBX, hidden, dim=-1)
    to_cell_GTBH = torch.addcmul(o, o * tanh_GTBH, tanh_GTBH, value=-1)
    factor_GTBX = torch.addcmul(gates_GTBX, gates_GTBX, gates_GTBX, value=-1)  # y (1 - y), the sigmoids' derivatives
    of_i, of_f, of_o, of_s = torch.split(factor_GTBX, hidden, dim=-1)
    of_i.mul_(s)
    of_f.mul_(before_GTBH)
    torch.addcmul(i, i * s, s, value=-1, out=of_s)
    return to_cell_GTBH, factor_GTBX.view(*tanh_GTBH.shape[:3], 4, hidden), of_o * tanh_GTBH, f
