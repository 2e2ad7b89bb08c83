"""The LSTM with shortcuts through time, with its backward pass written out. X = 4H."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.products import add_product_, plus_product, step_weight, transposed, weight_gradient
from skipstack.models.time.block_loop import each_step
from skipstack.models.time.lstm_loop import begun, factors


class ShortcutLoop(torch.autograd.Function):
    """v_t = i_t s_t + f_t c_{t-1},   c_t = k_t v_t + a_t,   h_t = k_t o_t tanh(v_t) + b_t   (wu2017 eqs 5-6, Table 2)

    with (i, f, o, s) = (sigm, sigm, sigm, tanh)(pre_t + U h_{t-1}), where ``internal`` a and ``output`` b are what the
    skip adds (None: nothing) and ``kept`` k is what a highway leaves of the layer's own (None: 1), all known before the
    loop. ``start`` is [h; c]_0; None: zeros.

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
        """h_GTBH, and last_2GBH: h and c; pre is left as it is."""
        hidden = weight_GHX.shape[1]
        gates_TGBX, h_TGBH, c_TGBH, tanh_TGBH = begun(pre_GTBX, hidden, start_2GBH)
        step_GHX = step_weight(weight_GHX, gates_TGBX.shape[2])
        v_TGBH = c_TGBH[1:] if internal_GTBH is None and kept_GTBH is None else torch.empty_like(tanh_TGBH)
        sigmoids, s = (part.unbind() for part in torch.split(gates_TGBX, [3 * hidden, hidden], dim=-1))
        i, f, o, _ = (part.unbind() for part in torch.split(gates_TGBX, hidden, dim=-1))
        pre, h, c, v, tanh = (each.unbind() for each in (gates_TGBX, h_TGBH, c_TGBH, v_TGBH, tanh_TGBH))
        a, b = (each_step(added, gates_TGBX) for added in (internal_GTBH, output_GTBH))
        k = None if kept_GTBH is None else kept_GTBH.unbind(1)
        for t in range(len(pre)):
            add_product_(pre[t], h[t], step_GHX)
            sigmoids[t].sigmoid_()
            s[t].tanh_()
            torch.mul(f[t], c[t], out=v[t]).addcmul_(i[t], s[t])
            torch.tanh(v[t], out=tanh[t])
            if k is not None:
                torch.addcmul(a[t], k[t], v[t], out=c[t + 1])
                torch.addcmul(b[t], k[t], o[t] * tanh[t], out=h[t + 1])
            else:
                if internal_GTBH is not None:
                    torch.add(v[t], a[t], out=c[t + 1])
                torch.addcmul(b[t], o[t], tanh[t], out=h[t + 1])
        kept = () if kept_GTBH is None else (kept_GTBH, v_TGBH)
        ctx.save_for_backward(step_GHX, gates_TGBX, h_TGBH[:-1], c_TGBH, tanh_TGBH, *kept)
        ctx.added = [added is not None for added in (internal_GTBH, output_GTBH)]
        last_2GBH = torch.stack([h_TGBH[-1], c_TGBH[-1]])
        ctx.mark_non_differentiable(last_2GBH)
        return h_TGBH[1:].transpose(0, 1).contiguous(), last_2GBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of pre, U, and the parts of the skip."""
        step_GHX, gates_TGBX, before_TGBH, c_TGBH, tanh_TGBH, *kept = ctx.saved_tensors
        to_v_TGBH, factor_TGB4H, forget_TGBH = factors(gates_TGBX, c_TGBH[:-1], tanh_TGBH)
        back_TGBH = forget_TGBH  # from v_t' to the share of v_{t-1}' that comes through c_{t-1}
        if kept:
            kept_TGBH = kept[0].transpose(0, 1)
            to_v_TGBH.mul_(kept_TGBH)
            factor_TGB4H[..., 2, :].mul_(kept_TGBH)
            back_TGBH = forget_TGBH.clone()
            back_TGBH[1:].mul_(kept_TGBH[:-1])
        pre_TGBX, h_TGBH, v_TGBH = (torch.empty_like(each) for each in (gates_TGBX, tanh_TGBH, tanh_TGBH))
        pre, h, v, to_v, back = (each.unbind() for each in (pre_TGBX, h_TGBH, v_TGBH, to_v_TGBH, back_TGBH))
        pre_TGB4H = pre_TGBX.view_as(factor_TGB4H)
        by_gate, of_output = pre_TGB4H.unbind(), pre_TGB4H.select(3, 2).unbind()
        factor, output_factor = factor_TGB4H.unbind(), factor_TGB4H.select(3, 2).unbind()
        above, transposed_GXH = above_GTBH.unbind(1), transposed(step_GHX)
        carried_GBH = torch.zeros_like(h[-1])
        h[-1].copy_(above[-1])
        for t in reversed(range(len(pre))):
            if t + 1 < len(pre):
                plus_product(above[t], pre[t + 1], transposed_GXH, out=h[t])
            torch.addcmul(carried_GBH, h[t], to_v[t], out=v[t])
            torch.mul(factor[t], v[t].unsqueeze(2), out=by_gate[t])
            torch.mul(output_factor[t], h[t], out=of_output[t])
            carried_GBH = v[t] * back[t]
        pre_GTBX, h_GTBH = pre_TGBX.transpose(0, 1).contiguous(), h_TGBH.transpose(0, 1)
        before_GTBH = before_TGBH.transpose(0, 1)
        weight = weight_gradient(before_GTBH.flatten(1, 2), pre_GTBX.flatten(1, 2), step_GHX)
        later_TGBH = torch.cat([v_TGBH[1:] * forget_TGBH[1:], torch.zeros_like(v_TGBH[:1])])  # c_t'
        kept_GTBH = None
        if kept:
            own_TGBH = gates_TGBX.split(tanh_TGBH.shape[-1], dim=-1)[2] * tanh_TGBH
            kept_GTBH = (later_TGBH * kept[1] + h_TGBH * own_TGBH).transpose(0, 1)
        internal, output = ctx.added
        c_GTBH = later_TGBH.transpose(0, 1)
        return pre_GTBX, weight, c_GTBH if internal else None, h_GTBH if output else None, kept_GTBH, None
