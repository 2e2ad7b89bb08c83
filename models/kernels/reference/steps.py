"""Shared parts of the loops of torch's operations: their arrays, each step's pre-activation, the gradient of U.

X = 4H in an LSTM, 3H in a block; S = T + 1: all internal states, the first included.
"""

from typing import Any

import torch
from torch import Tensor

from skipstack.models.kernels.products import plus_product, weight_gradient


def begun(gates_GTBX: Tensor, hidden: int, start_2GBH: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Arrays that an LSTM fills step by step: h_GTBH; c_GSBH, which begins with the first state; and tanh_GTBH."""
    groups, steps, sentences, _ = gates_GTBX.shape
    h_GTBH, tanh_GTBH = (gates_GTBX.new_empty(groups, steps, sentences, hidden) for _ in range(2))
    c_GSBH = gates_GTBX.new_empty(groups, steps + 1, sentences, hidden)
    c_GSBH[:, 0] = 0 if start_2GBH is None else start_2GBH[1]
    return h_GTBH, c_GSBH, tanh_GTBH


def ended(ctx: Any, h_GTBH: Tensor, c_GSBH: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs of an LSTM: h_GTBH, and last_2GBH, h and c, a constant."""
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
    """The factors of an LSTM's gradients, from i, f, o and s, the internal state read, and tanh(c_t).

    o (1 - tanh^2 c), from h' to c'; the factors from c' to pre' by gate, (s i (1 - i), c_{t-1} f (1 - f), a number that
    is not used, i (1 - s^2)): factor_GTB4H; tanh(c) o (1 - o), from h' to the pre' of o; and f, from c' to the gradient
    of the internal state read.
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


def each_step(added_GTBH: Tensor | None, like_GTBX: Tensor) -> tuple[Tensor, ...]:
    """The terms added at each step; zero if there are none."""
    return (like_GTBX.new_zeros(()),) * like_GTBX.shape[1] if added_GTBH is None else added_GTBH.unbind(1)
