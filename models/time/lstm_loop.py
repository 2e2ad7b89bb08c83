"""The LSTM through time, with its backward pass written out: a few operations a step in place of autograd's many.

X = 4H.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.products import add_product_, plus_product, step_weight, transposed, weight_gradient


class LstmLoop(torch.autograd.Function):
    """h_t for all t, and the last state, from pre_t = W below_t + b, U and the first state, zeros where none is given

    (``models/cells/lstm.py`` has the equations: wu2017 eqs 5-6)
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
        """h_GTBH, and last_2GBH: h and c; pre is left as it is."""
        hidden = weight_GHX.shape[1]
        gates_TGBX, h_TGBH, c_TGBH, tanh_TGBH = begun(pre_GTBX, hidden, start_2GBH)
        step_GHX = step_weight(weight_GHX, gates_TGBX.shape[2])
        sigmoids, s = (part.unbind() for part in torch.split(gates_TGBX, [3 * hidden, hidden], dim=-1))
        i, f, o, _ = (part.unbind() for part in torch.split(gates_TGBX, hidden, dim=-1))
        pre, h, c, tanh = gates_TGBX.unbind(), h_TGBH.unbind(), c_TGBH.unbind(), tanh_TGBH.unbind()
        for t in range(len(pre)):
            add_product_(pre[t], h[t], step_GHX)
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.mul(f[t], c[t], out=c[t + 1]).addcmul_(i[t], s[t])
            torch.mul(o[t], torch.tanh(c[t + 1], out=tanh[t]), out=h[t + 1])
        ctx.save_for_backward(step_GHX, gates_TGBX, h_TGBH, c_TGBH, tanh_TGBH)
        last_2GBH = torch.stack([h_TGBH[-1], c_TGBH[-1]])
        ctx.mark_non_differentiable(last_2GBH)
        return h_TGBH[1:].transpose(0, 1).contiguous(), last_2GBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None]:
        """The gradients of pre and U."""
        step_GHX, gates_TGBX, h_TGBH, c_TGBH, tanh_TGBH = ctx.saved_tensors
        steps, groups, sentences, width = gates_TGBX.shape
        hidden = width // 4
        to_cell_TGBH, factor_TGB4H, forget_TGBH = factors(gates_TGBX, c_TGBH[:-1], tanh_TGBH)
        pre_TGBX = torch.empty_like(gates_TGBX)
        to_cell, factor, forget = (part.unbind() for part in (to_cell_TGBH, factor_TGB4H, forget_TGBH))
        pre_TGB4H = pre_TGBX.view(steps, groups, sentences, 4, hidden)
        pre, pre_by_gate, of_output = pre_TGBX.unbind(), pre_TGB4H.unbind(), pre_TGB4H.select(3, 2).unbind()
        output_factor = factor_TGB4H.select(3, 2).unbind()
        above, transposed_GXH = above_GTBH.unbind(1), transposed(step_GHX)
        h_GBH, carried_GBH = above[-1], torch.zeros_like(above[-1])
        for t in reversed(range(steps)):
            if t + 1 < steps:
                h_GBH = plus_product(above[t], pre[t + 1], transposed_GXH)
            c_GBH = torch.addcmul(carried_GBH, h_GBH, to_cell[t])
            torch.mul(factor[t], c_GBH.unsqueeze(2), out=pre_by_gate[t])
            torch.mul(output_factor[t], h_GBH, out=of_output[t])
            carried_GBH = c_GBH * forget[t]
        pre_GTBX = pre_TGBX.transpose(0, 1).contiguous()
        before_GTBH = h_TGBH[:-1].transpose(0, 1)
        rows_before, rows_pre = before_GTBH.flatten(1, 2), pre_GTBX.flatten(1, 2)
        return pre_GTBX, weight_gradient(rows_before, rows_pre, step_GHX), None


def begun(pre_GTBX: Tensor, hidden: int, start_2GBH: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What a loop fills step by step: gates_TGBX, a copy of pre; h and c from the first state on, one more than there
    are steps; and tanh_TGBH.
    """
    gates_TGBX = pre_GTBX.transpose(0, 1).clone(memory_format=torch.contiguous_format)
    steps, groups, sentences, _ = gates_TGBX.shape
    h_TGBH, c_TGBH = gates_TGBX.new_zeros(2, steps + 1, groups, sentences, hidden).unbind()
    if start_2GBH is not None:
        h_TGBH[0], c_TGBH[0] = start_2GBH
    return gates_TGBX, h_TGBH, c_TGBH, gates_TGBX.new_empty(steps, groups, sentences, hidden)


def factors(gates_TGBX: Tensor, before_TGBH: Tensor, tanh_TGBH: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What gradients are multiplied by, from i, f, o and s, the internal state read, and tanh(c_t).

    o (1 - tanh^2 c), from h' to c'; the factors of pre' by gate, (s i (1 - i), c_{t-1} f (1 - f), tanh(c) o (1 - o),
    i (1 - s^2)): factor_TGB4H; and f, from c' to what was read.
    """
    steps, groups, sentences, width = gates_TGBX.shape
    i, f, o, s = torch.split(gates_TGBX, width // 4, dim=-1)
    to_cell_TGBH = o * (1 - tanh_TGBH * tanh_TGBH)
    factor_TGBX = gates_TGBX * (1 - gates_TGBX)  # of the sigmoids; that of the tanh is put right below
    of_i, of_f, of_o, of_s = torch.split(factor_TGBX, width // 4, dim=-1)
    of_i.mul_(s)
    of_f.mul_(before_TGBH)
    of_o.mul_(tanh_TGBH)
    torch.mul(i, 1 - s * s, out=of_s)
    return to_cell_TGBH, factor_TGBX.view(steps, groups, sentences, 4, width // 4), f
