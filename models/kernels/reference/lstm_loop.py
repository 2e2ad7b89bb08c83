"""The LSTM through time, with its backward pass written out: a few operations a step in place of autograd's many.

X = 4H, S = T + 1: all internal states, the first included.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.products import plus_product, step_weight, transposed, weight_gradient


@multiplies
class LstmLoop(torch.autograd.Function):
    """h_t for all t, and the last state, from pre_t = W below_t + b, U and the first state, zeros where none is given

    (``models/parts/cells/lstm.py`` has the equations: wu2017 eqs 5-6)
    With a' for the gradient of a, and the gates' order i, f, o, s, backward from the last step:
    h_t' = (from above)_t + U^T pre_{t+1}'
    c_t' = h_t' o_t (1 - tanh^2 c_t) + c_{t+1}' f_{t+1}
    pre_t' = (c_t' s_t i_t (1 - i_t),  c_t' c_{t-1} f_t (1 - f_t),  h_t' tanh(c_t) o_t (1 - o_t),  c_t' i_t (1 - s_t^2))
    U' = sum_t h_{t-1} pre_t'^T
    All factors but the gradients themselves are computed for all steps at once. No gradient goes to the first state,
    and none comes from the last: what is carried over is a constant.
    """

    @staticmethod
    def forward(
        ctx: Any, pre_GTBX: Tensor, weight_GHX: Tensor, start_2GBH: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """h_GTBH, and last_2GBH: h and c. Pre is left as it is."""
        gates_GTBX, hidden = torch.empty_like(pre_GTBX), weight_GHX.shape[1]
        h_GTBH, c_GSBH, tanh_GTBH = begun(gates_GTBX, hidden, start_2GBH)
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        sigmoids = gates_GTBX[..., : 3 * hidden].unbind(1)
        i, f, o, s = (part.unbind(1) for part in torch.split(gates_GTBX, hidden, dim=-1))
        pre, gates, h, c, tanh = (each.unbind(1) for each in (pre_GTBX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH))
        before_GBH = None if start_2GBH is None else start_2GBH[0]
        for t in range(len(pre)):
            pre_activation(pre[t], before_GBH, step_GHX, out=gates[t])
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.mul(f[t], c[t], out=c[t + 1]).addcmul_(i[t], s[t])
            before_GBH = torch.mul(o[t], torch.tanh(c[t + 1], out=tanh[t]), out=h[t])
        ctx.save_for_backward(step_GHX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, start_2GBH)
        return ended(ctx, h_GTBH, c_GSBH)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None]:
        """The gradients of pre and U."""
        step_GHX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, start_2GBH = ctx.saved_tensors
        to_cell_GTBH, pre_GTB4H, of_output_GTBH, forget_GTBH = factors(gates_GTBX, c_GSBH[:, :-1], tanh_GTBH)
        pre_GTBX = pre_GTB4H.flatten(-2)
        to_cell, of_output, forget = (part.unbind(1) for part in (to_cell_GTBH, of_output_GTBH, forget_GTBH))
        pre, by_gate, output = pre_GTBX.unbind(1), pre_GTB4H.unbind(1), pre_GTB4H.select(3, 2).unbind(1)
        above, transposed_GXH = above_GTBH.unbind(1), transposed(step_GHX)
        h_GBH, carried_GBH = above[-1], torch.zeros_like(above[-1])
        for t in reversed(range(len(pre))):
            if t + 1 < len(pre):
                h_GBH = plus_product(above[t], pre[t + 1], transposed_GXH)
            c_GBH = torch.addcmul(carried_GBH, h_GBH, to_cell[t])
            by_gate[t].mul_(c_GBH.unsqueeze(2))
            torch.mul(of_output[t], h_GBH, out=output[t])
            carried_GBH = c_GBH.mul_(forget[t])
        start_GBH = None if start_2GBH is None else start_2GBH[0]
        return pre_GTBX, recurrent_gradient(h_GTBH, pre_GTBX, start_GBH, step_GHX), None


def begun(gates_GTBX: Tensor, hidden: int, start_2GBH: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """What a loop fills step by step: h_GTBH; c_GSBH, which begins with the first state; and tanh_GTBH."""
    groups, steps, sentences, _ = gates_GTBX.shape
    h_GTBH, tanh_GTBH = (gates_GTBX.new_empty(groups, steps, sentences, hidden) for _ in range(2))
    c_GSBH = gates_GTBX.new_empty(groups, steps + 1, sentences, hidden)
    c_GSBH[:, 0] = 0 if start_2GBH is None else start_2GBH[1]
    return h_GTBH, c_GSBH, tanh_GTBH


def ended(ctx: Any, h_GTBH: Tensor, c_GSBH: Tensor) -> tuple[Tensor, Tensor]:
    """What a loop puts out: h_GTBH, and last_2GBH, h and c, a constant."""
    last_2GBH = torch.stack([h_GTBH[:, -1], c_GSBH[:, -1]])
    ctx.mark_non_differentiable(last_2GBH)
    return h_GTBH, last_2GBH


def pre_activation(pre_GBX: Tensor, before_GBH: Tensor | None, step_GHX: Tensor, out: Tensor) -> None:
    """pre_t + U h_{t-1}; None: h is zero, before the first step."""
    if before_GBH is None:
        out.copy_(pre_GBX)
    else:
        plus_product(pre_GBX, before_GBH, step_GHX, out=out)


def factors(gates_GTBX: Tensor, before_GTBH: Tensor, tanh_GTBH: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What gradients are multiplied by, from i, f, o and s, the internal state read, and tanh(c_t).

    o (1 - tanh^2 c), from h' to c'; the factors from c' to pre' by gate, (s i (1 - i), c_{t-1} f (1 - f), nothing that
    counts, i (1 - s^2)): factor_GTB4H; tanh(c) o (1 - o), from h' to the pre' of o; and f, from c' to what was read.
    """
    hidden = tanh_GTBH.shape[-1]
    i, f, o, s = torch.split(gates_GTBX, hidden, dim=-1)
    to_cell_GTBH = torch.addcmul(o, o * tanh_GTBH, tanh_GTBH, value=-1)
    factor_GTBX = torch.addcmul(gates_GTBX, gates_GTBX, gates_GTBX, value=-1)  # of the sigmoids
    of_i, of_f, of_o, of_s = torch.split(factor_GTBX, hidden, dim=-1)
    of_i.mul_(s)
    of_f.mul_(before_GTBH)
    torch.addcmul(i, i * s, s, value=-1, out=of_s)
    return to_cell_GTBH, factor_GTBX.view(*tanh_GTBH.shape[:3], 4, hidden), of_o * tanh_GTBH, f


def recurrent_gradient(h_GTBH: Tensor, pre_GTBX: Tensor, start_GBH: Tensor | None, step_GHX: Tensor) -> Tensor:
    """U' = sum_t h_{t-1} pre_t'^T, where h_0 is ``start``; None: zeros."""
    before_GNH, pre_GNX = h_GTBH[:, :-1].flatten(1, 2), pre_GTBX[:, 1:].flatten(1, 2)
    weight_GHX = weight_gradient(before_GNH, pre_GNX, step_GHX)
    return weight_GHX if start_GBH is None else weight_GHX + weight_gradient(start_GBH, pre_GTBX[:, 0], step_GHX)
