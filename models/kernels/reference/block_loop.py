"""The shortcut block through time, with its backward pass written out. X = 3H."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.products import plus_product, step_weight, transposed
from skipstack.models.kernels.reference.steps import each_step, pre_activation, recurrent_gradient


@multiplies
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
        """h_GTBH. Pre is left as it is."""
        gates_GTBX, hidden = torch.empty_like(pre_GTBX), weight_GHX.shape[1]
        h_GTBH, read_GTBH, tanh_GTBH = begun(gates_GTBX, hidden, shared_GTBH)
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        sigmoids = gates_GTBX[..., : 2 * hidden].unbind(1)
        i, o, s = (part.unbind(1) for part in torch.split(gates_GTBX, hidden, dim=-1))
        pre, gates, h, tanh, read = (each.unbind(1) for each in (pre_GTBX, gates_GTBX, h_GTBH, tanh_GTBH, read_GTBH))
        a, b, q = (each_step(added, gates_GTBX) for added in (internal_GTBH, output_GTBH, shared_GTBH))
        before_GBH = start_GBH
        for t in range(len(pre)):
            pre_activation(pre[t], before_GBH, step_GHX, out=gates[t])
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.addcmul(a[t], i[t], s[t], out=tanh[t]).tanh_()
            if shared_GTBH is not None:
                torch.add(tanh[t], q[t], out=read[t])
            before_GBH = torch.addcmul(b[t], o[t], read[t], out=h[t])
        ctx.save_for_backward(step_GHX, gates_GTBX, h_GTBH, tanh_GTBH, read_GTBH, start_GBH)
        ctx.added = [added is not None for added in (internal_GTBH, output_GTBH, shared_GTBH)]
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U and what the skip adds."""
        step_GHX, gates_GTBX, output_GTBH, tanh_GTBH, read_GTBH, start_GBH = ctx.saved_tensors
        hidden = tanh_GTBH.shape[-1]
        i, o, s = torch.split(gates_GTBX, hidden, dim=-1)
        to_m_GTBH = o * (1 - tanh_GTBH * tanh_GTBH)
        pre_GTBX = gates_GTBX * (1 - gates_GTBX)  # the factors, which become the gradients step by step
        of_i, of_o, of_s = torch.split(pre_GTBX, hidden, dim=-1)
        of_i.mul_(s).mul_(to_m_GTBH)
        of_o.mul_(read_GTBH)
        torch.mul(i, 1 - s * s, out=of_s).mul_(to_m_GTBH)
        h_GTBH = torch.empty_like(tanh_GTBH)
        pre, h, by_gate = (
            each.unbind(1) for each in (pre_GTBX, h_GTBH, pre_GTBX.view(*tanh_GTBH.shape[:3], 3, hidden))
        )
        above, transposed_GXH = above_GTBH.unbind(1), transposed(step_GHX)
        h[-1].copy_(above[-1])
        for t in reversed(range(len(pre))):
            if t + 1 < len(pre):
                plus_product(above[t], pre[t + 1], transposed_GXH, out=h[t])
            by_gate[t].mul_(h[t].unsqueeze(2))
        weight_GHX = recurrent_gradient(output_GTBH, pre_GTBX, start_GBH, step_GHX)
        internal, output, shared = ctx.added
        internal_GTBH = h_GTBH * to_m_GTBH if internal else None
        shared_GTBH = h_GTBH * o if shared else None
        return pre_GTBX, weight_GHX, internal_GTBH, h_GTBH if output else None, shared_GTBH, None


def begun(gates_GTBX: Tensor, hidden: int, shared_GTBH: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Arrays that a loop fills step by step: h_GTBH; read_GTBH, tanh(m) + q; and tanh_GTBH, which is both without q."""
    h_GTBH, tanh_GTBH = (gates_GTBX.new_empty(*gates_GTBX.shape[:3], hidden) for _ in range(2))
    return h_GTBH, tanh_GTBH if shared_GTBH is None else torch.empty_like(tanh_GTBH), tanh_GTBH
