"""The shortcut block through time, with its backward pass written out. X = 3H."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.products import add_product_, plus_product, step_weight, transposed, weight_gradient


class BlockLoop(torch.autograd.Function):
    """m_t = i_t s_t + a_t,   h_t = o_t (tanh(m_t) + q_t) + b_t                        (wu2017 eqs 7-8, Table 2)

    with (i, o, s) = (sigm, sigm, tanh)(pre_t + U h_{t-1}), where ``internal`` a, ``output`` b and ``shared`` q are what
    the skip adds, known before the loop; None: nothing. ``start`` is h_0; None: zeros.

    With a' for the gradient of a, backward from the last step: nothing but h goes from step to step, so all gradients
    are h' times factors that are known for all steps at once,
    h_t' = (from above)_t + U^T pre_{t+1}'
    m_t' = h_t' o_t (1 - tanh^2 m_t)
    pre_t' = (m_t' s_t i_t (1 - i_t),  h_t' (tanh(m_t) + q_t) o_t (1 - o_t),  m_t' i_t (1 - s_t^2))
    a_t' = m_t',   b_t' = h_t',   q_t' = h_t' o_t,   U' = sum_t h_{t-1} pre_t'^T
    No gradient goes to the first state: what is carried over is a constant.
    """

    @staticmethod
    def forward(
        ctx: Any,
        pre_GTBX: Tensor,
        weight_GHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        shared_GTBH: Tensor | None,
        start_GBH: Tensor | None,
    ) -> Tensor:
        """h_GTBH; pre is left as it is."""
        hidden = weight_GHX.shape[1]
        gates_TGBX = pre_GTBX.transpose(0, 1).clone(memory_format=torch.contiguous_format)
        steps, groups, sentences, _ = gates_TGBX.shape
        h_TGBH = gates_TGBX.new_empty(steps + 1, groups, sentences, hidden)
        h_TGBH[0] = 0 if start_GBH is None else start_GBH
        tanh_TGBH = gates_TGBX.new_empty(steps, groups, sentences, hidden)
        step_GHX = step_weight(weight_GHX, sentences)
        read_TGBH = tanh_TGBH if shared_GTBH is None else torch.empty_like(tanh_TGBH)
        sigmoids, s = (part.unbind() for part in torch.split(gates_TGBX, [2 * hidden, hidden], dim=-1))
        i, o, _ = (part.unbind() for part in torch.split(gates_TGBX, hidden, dim=-1))
        pre, h, tanh, read = gates_TGBX.unbind(), h_TGBH.unbind(), tanh_TGBH.unbind(), read_TGBH.unbind()
        a, b, q = (each_step(added, gates_TGBX) for added in (internal_GTBH, output_GTBH, shared_GTBH))
        for t in range(steps):
            add_product_(pre[t], h[t], step_GHX)
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.addcmul(a[t], i[t], s[t], out=tanh[t]).tanh_()
            if shared_GTBH is not None:
                torch.add(tanh[t], q[t], out=read[t])
            torch.addcmul(b[t], o[t], read[t], out=h[t + 1])
        ctx.save_for_backward(step_GHX, gates_TGBX, h_TGBH[:-1], tanh_TGBH, read_TGBH)
        ctx.added = [added is not None for added in (internal_GTBH, output_GTBH, shared_GTBH)]
        return h_TGBH[1:].transpose(0, 1).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U and what the skip adds."""
        step_GHX, gates_TGBX, before_TGBH, tanh_TGBH, read_TGBH = ctx.saved_tensors
        hidden = tanh_TGBH.shape[-1]
        i, o, s = torch.split(gates_TGBX, hidden, dim=-1)
        to_m_TGBH = o * (1 - tanh_TGBH * tanh_TGBH)
        pre_TGBX = gates_TGBX * (1 - gates_TGBX)  # the factors, which become the gradients step by step
        of_i, of_o, of_s = torch.split(pre_TGBX, hidden, dim=-1)
        of_i.mul_(s).mul_(to_m_TGBH)
        of_o.mul_(read_TGBH)
        torch.mul(i, 1 - s * s, out=of_s).mul_(to_m_TGBH)
        h_TGBH = torch.empty_like(tanh_TGBH)
        pre, h, by_gate = pre_TGBX.unbind(), h_TGBH.unbind(), pre_TGBX.unflatten(-1, (3, hidden)).unbind()
        above, transposed_GXH = above_GTBH.unbind(1), transposed(step_GHX)
        h[-1].copy_(above[-1])
        for t in reversed(range(len(pre))):
            if t + 1 < len(pre):
                plus_product(above[t], pre[t + 1], transposed_GXH, out=h[t])
            by_gate[t].mul_(h[t].unsqueeze(2))
        pre_GTBX, h_GTBH = pre_TGBX.transpose(0, 1).contiguous(), h_TGBH.transpose(0, 1)
        before_GTBH = before_TGBH.transpose(0, 1)
        weight = weight_gradient(before_GTBH.flatten(1, 2), pre_GTBX.flatten(1, 2), step_GHX)
        internal, output, shared = ctx.added
        internal_GTBH = (h_TGBH * to_m_TGBH).transpose(0, 1) if internal else None
        shared_GTBH = (h_TGBH * o).transpose(0, 1) if shared else None
        return pre_GTBX, weight, internal_GTBH, h_GTBH if output else None, shared_GTBH, None


def each_step(added_GTBH: Tensor | None, like: Tensor) -> tuple[Tensor, ...]:
    """What is added at each step: zero, where it is nothing."""
    return (like.new_zeros(()),) * len(like) if added_GTBH is None else added_GTBH.unbind(1)
