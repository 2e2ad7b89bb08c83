"""Loops over time on a GPU: two launches a step, a product and all the rest.

X = 4H or 3H, S = T + 1. GBH and GBX are one step of GTBH and GTBX.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

import skipstack.models.time.fused.operators  # noqa: F401
from skipstack.models.products import plus_product, transposed
from skipstack.models.time.lstm_loop import recurrent_gradient


def lstm_forward(
    pre_GTBX: Tensor,
    step_GHX: Tensor,
    internal_GTBH: Tensor | None,
    output_GTBH: Tensor | None,
    kept_GTBH: Tensor | None,
    start_GBH: Tensor | None,
    gates_GTBX: Tensor,
    h_GTBH: Tensor,
    c_GSBH: Tensor,
    tanh_GTBH: Tensor,
    v_GTBH: Tensor | None,
) -> None:
    """Fills the last five, of which c begins with the first state; v only where there is ``kept``."""
    pre, gates, h, c, tanh = (by_step(each) for each in (pre_GTBX, gates_GTBX, h_GTBH, c_GSBH, tanh_GTBH))
    a, b, k, v = (steps_of(part, len(pre)) for part in (internal_GTBH, output_GTBH, kept_GTBH, v_GTBH))
    for t in range(len(pre)):
        x_GBX = activated(pre[t], h[t - 1] if t else start_GBH, step_GHX, gates[t])
        torch.ops.skipstack.lstm_forward(x_GBX, c[t], a[t], b[t], k[t], gates[t], c[t + 1], tanh[t], v[t], h[t])


def lstm_backward(
    above_GTBH: Tensor,
    step_GHX: Tensor,
    start_GBH: Tensor | None,
    gates_GTBX: Tensor,
    h_GTBH: Tensor,
    c_GSBH: Tensor,
    tanh_GTBH: Tensor,
    kept_GTBH: Tensor | None,
    v_GTBH: Tensor | None,
    to_pre_GTBX: Tensor,
    *to_added_GTBH: Tensor | None,
) -> Tensor:
    """Fills the gradients of pre, a, b and k; returns that of U."""
    above, gates, c, tanh, pre = (by_step(each) for each in (above_GTBH, gates_GTBX, c_GSBH, tanh_GTBH, to_pre_GTBX))
    k, v, to_a, to_b, to_k = (steps_of(part, len(pre)) for part in (kept_GTBH, v_GTBH, *to_added_GTBH))
    to_c_GBH, to_h_GBH = torch.zeros_like(h_GTBH[:, 0]), torch.empty_like(h_GTBH[:, 0])
    turned_GXH = transposed(step_GHX)
    for t in reversed(range(len(pre))):
        of_h_GBH = returned(above[t], pre[t + 1] if t + 1 < len(pre) else None, turned_GXH, to_h_GBH)
        known = gates[t], c[t], tanh[t], k[t], v[t]
        torch.ops.skipstack.lstm_backward(of_h_GBH, *known, to_c_GBH, pre[t], to_a[t], to_b[t], to_k[t])
    return recurrent_gradient(h_GTBH, to_pre_GTBX, start_GBH, step_GHX)


def block_forward(
    pre_GTBX: Tensor,
    step_GHX: Tensor,
    internal_GTBH: Tensor | None,
    output_GTBH: Tensor | None,
    shared_GTBH: Tensor | None,
    start_GBH: Tensor | None,
    gates_GTBX: Tensor,
    h_GTBH: Tensor,
    read_GTBH: Tensor,
    tanh_GTBH: Tensor,
) -> None:
    """Fills the last four; ``read`` is tanh(m) + q, and tanh(m) itself where there is no q."""
    pre, gates, h, tanh = (by_step(each) for each in (pre_GTBX, gates_GTBX, h_GTBH, tanh_GTBH))
    apart_GTBH = None if shared_GTBH is None else read_GTBH
    a, b, q, read = (steps_of(part, len(pre)) for part in (internal_GTBH, output_GTBH, shared_GTBH, apart_GTBH))
    for t in range(len(pre)):
        x_GBX = activated(pre[t], h[t - 1] if t else start_GBH, step_GHX, gates[t])
        torch.ops.skipstack.block_forward(x_GBX, a[t], b[t], q[t], gates[t], tanh[t], read[t], h[t])


def block_backward(
    above_GTBH: Tensor,
    step_GHX: Tensor,
    start_GBH: Tensor | None,
    gates_GTBX: Tensor,
    h_GTBH: Tensor,
    read_GTBH: Tensor,
    tanh_GTBH: Tensor,
    to_pre_GTBX: Tensor,
    *to_added_GTBH: Tensor | None,
) -> Tensor:
    """Fills the gradients of pre, a, b and q; returns that of U."""
    above, gates, read, tanh, pre = (
        by_step(each) for each in (above_GTBH, gates_GTBX, read_GTBH, tanh_GTBH, to_pre_GTBX)
    )
    to_a, to_b, to_q = (steps_of(part, len(pre)) for part in to_added_GTBH)
    to_h_GBH, turned_GXH = torch.empty_like(h_GTBH[:, 0]), transposed(step_GHX)
    for t in reversed(range(len(pre))):
        of_h_GBH = returned(above[t], pre[t + 1] if t + 1 < len(pre) else None, turned_GXH, to_h_GBH)
        torch.ops.skipstack.block_backward(of_h_GBH, gates[t], tanh[t], read[t], pre[t], to_a[t], to_b[t], to_q[t])
    return recurrent_gradient(h_GTBH, to_pre_GTBX, start_GBH, step_GHX)


def activated(pre_GBX: Tensor, before_GBH: Tensor | None, step_GHX: Tensor, out_GBX: Tensor) -> Tensor:
    """pre_t + U h_{t-1}, in ``out``; pre_t as it stands before the first step, where h is zero."""
    return pre_GBX if before_GBH is None else plus_product(pre_GBX, before_GBH, step_GHX, out=out_GBX)


def returned(above_GBH: Tensor, to_pre_GBX: Tensor | None, turned_GXH: Tensor, out_GBH: Tensor) -> Tensor:
    """h_t' = (from above)_t + U^T pre_{t+1}', in ``out``; what comes from above as it stands at the last step."""
    return above_GBH if to_pre_GBX is None else plus_product(above_GBH, to_pre_GBX, turned_GXH, out=out_GBH)


def by_step(x_GTBI: Tensor) -> tuple[Tensor, ...]:
    """Its steps, of numbers that stand row after row."""
    return x_GTBI.contiguous().unbind(1)


def steps_of(part_GTBH: Tensor | None, steps: int) -> Sequence[Tensor | None]:
    """As ``by_step``; of an absent one, so many absent ones."""
    return (None,) * steps if part_GTBH is None else by_step(part_GTBH)
