"""The LSTM through time, with shortcuts or without, with its backward pass written out.

A step is a few operations, in place of autograd's many.

X = 4H, S = T + 1: all internal states, the first included.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.products import plus_product, step_weight, transposed
from skipstack.models.kernels.reference.steps import (
    begun,
    each_step,
    ended,
    factors,
    pre_activation,
    recurrent_gradient,
)


@multiplies
class ShortcutLoop(torch.autograd.Function):
    """v_t = i_t s_t + f_t c_{t-1},   c_t = k_t v_t + a_t,   h_t = k_t o_t tanh(v_t) + b_t   (wu2017 eqs 5-6, Table 2)

    with (i, f, o, s) = (sigm, sigm, sigm, tanh)(pre_t + U h_{t-1}), where ``internal`` a and ``output`` b are the terms
    that the skip adds (None: nothing) and ``kept`` k is the share of the layer's own values that a highway keeps (None:
    1), all known before the loop. ``start`` is [h; c]_0; None: zeros.

    With a' for the gradient of a, backward from the last step:
    h_t' = (from above)_t + U^T pre_{t+1}'
    c_t' = v_{t+1}' f_{t+1}
    v_t' = c_t' k_t + h_t' k_t o_t (1 - tanh^2 v_t)
    pre_t' = (v_t' s_t i_t (1 - i_t),  v_t' c_{t-1} f_t (1 - f_t),
              h_t' k_t tanh(v_t) o_t (1 - o_t),  v_t' i_t (1 - s_t^2))
    a_t' = c_t',   b_t' = h_t',   k_t' = c_t' v_t + h_t' o_t tanh(v_t),   U' = sum_t h_{t-1} pre_t'^T
    All factors but the gradients themselves are computed for all steps at once. No gradient goes to the first state,
    and none comes from the last: what is carried over is a constant.
    """

    @staticmethod
    def forward(
        ctx: Any,
        pre_GTBX: Tensor,
        weight_GHX: Tensor,
        internal_GTBH: Tensor | None,
        output_GTBH: Tensor | None,
        kept_GTBH: Tensor | None,
        start_2GBH: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """h_GTBH, and last_2GBH: h and c. Pre is left as it is."""
        gates_GTBX, hidden = torch.empty_like(pre_GTBX), weight_GHX.shape[1]
        h_GTBH, c_GSBH, tanh_GTBH = begun(gates_GTBX, hidden, start_2GBH)
        step_GHX = step_weight(weight_GHX, gates_GTBX.shape[2])
        apart = internal_GTBH is not None or kept_GTBH is not None
        v_GTBH = torch.empty_like(tanh_GTBH) if apart else c_GSBH[:, 1:]
        sigmoids = gates_GTBX[..., : 3 * hidden].unbind(1)
        i, f, o, s = (part.unbind(1) for part in torch.split(gates_GTBX, hidden, dim=-1))
        pre, gates, h, c, v, tanh = (
            each.unbind(1) for each in (pre_GTBX, gates_GTBX, h_GTBH, c_GSBH, v_GTBH, tanh_GTBH)
        )
        a, b = (each_step(added, gates_GTBX) for added in (internal_GTBH, output_GTBH))
        k = None if kept_GTBH is None else kept_GTBH.unbind(1)
        before_GBH = None if start_2GBH is None else start_2GBH[0]
        for t in range(len(pre)):
            pre_activation(pre[t], before_GBH, step_GHX, out=gates[t])
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.mul(f[t], c[t], out=v[t]).addcmul_(i[t], s[t])
            torch.tanh(v[t], out=tanh[t])
            if k is not None:
                torch.addcmul(a[t], k[t], v[t], out=c[t + 1])
                before_GBH = torch.addcmul(b[t], k[t], o[t] * tanh[t], out=h[t])
            else:
                if internal_GTBH is not None:
                    torch.add(v[t], a[t], out=c[t + 1])
                if output_GTBH is None:
                    before_GBH = torch.mul(o[t], tanh[t], out=h[t])
                else:
                    before_GBH = torch.addcmul(b[t], o[t], tanh[t], out=h[t])
        kept = () if kept_GTBH is None else (kept_GTBH, v_GTBH)
        ctx.save_for_backward(step_GHX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH, start_2GBH, *kept)
        ctx.added = [added is not None for added in (internal_GTBH, output_GTBH)]
        return ended(ctx, h_GTBH, c_GSBH)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U, and the parts of the skip."""
        step_GHX, gates_GTBX, output_GTBH, c_GSBH, tanh_GTBH, start_2GBH, *kept = ctx.saved_tensors
        to_v_GTBH, pre_GTB4H, of_output_GTBH, forget_GTBH = factors(gates_GTBX, c_GSBH[:, :-1], tanh_GTBH)
        back_GTBH = forget_GTBH  # from v_t' to the share of v_{t-1}' that comes through c_{t-1}
        if kept:
            to_v_GTBH.mul_(kept[0])
            of_output_GTBH.mul_(kept[0])
            back_GTBH = forget_GTBH.clone()
            back_GTBH[:, 1:].mul_(kept[0][:, :-1])
        pre_GTBX, h_GTBH, v_GTBH = pre_GTB4H.flatten(-2), *(torch.empty_like(tanh_GTBH) for _ in range(2))
        pre, h, v, to_v, back = (each.unbind(1) for each in (pre_GTBX, h_GTBH, v_GTBH, to_v_GTBH, back_GTBH))
        by_gate, output, of_output = (each.unbind(1) for each in (pre_GTB4H, pre_GTB4H.select(3, 2), of_output_GTBH))
        above, transposed_GXH = above_GTBH.unbind(1), transposed(step_GHX)
        carried_GBH = torch.zeros_like(h[-1])
        h[-1].copy_(above[-1])
        for t in reversed(range(len(pre))):
            if t + 1 < len(pre):
                plus_product(above[t], pre[t + 1], transposed_GXH, out=h[t])
            torch.addcmul(carried_GBH, h[t], to_v[t], out=v[t])
            by_gate[t].mul_(v[t].unsqueeze(2))
            torch.mul(of_output[t], h[t], out=output[t])
            carried_GBH = v[t] * back[t]
        start_GBH = None if start_2GBH is None else start_2GBH[0]
        weight_GHX = recurrent_gradient(output_GTBH, pre_GTBX, start_GBH, step_GHX)
        internal, output_added = ctx.added
        c_GTBH, kept_GTBH = None, None
        if internal or kept:  # c_t'
            c_GTBH = functional.pad(v_GTBH[:, 1:] * forget_GTBH[:, 1:], (0, 0, 0, 0, 0, 1))
        if kept:
            own_GTBH = gates_GTBX.split(tanh_GTBH.shape[-1], dim=-1)[2] * tanh_GTBH
            kept_GTBH = c_GTBH * kept[1] + h_GTBH * own_GTBH
        added = c_GTBH if internal else None, h_GTBH if output_added else None
        return pre_GTBX, weight_GHX, *added, kept_GTBH, None
