"""A linear recurrence through time as a parallel scan, with its backward pass written out.

Axes: G groups = lanes * directions (lane: one seed's copy of the network), T time steps, B sentences, H hidden units.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def linear_recurrence(kept_GTBH: Tensor, added_GTBH: Tensor, start_GBH: Tensor | None) -> Tensor:
    """Computes h_t = k_t h_{t-1} + a_t: h_GTBH. ``kept`` is k, ``added`` a, and ``start`` h_0; None means zeros."""
    h_GTBH: Tensor = LinearScan.apply(kept_GTBH, added_GTBH, start_GBH)  # type: ignore[no-untyped-call]
    return h_GTBH


class LinearScan(torch.autograd.Function):
    """The autograd function of ``linear_recurrence``.

    The gradient is the same recurrence from the last step backward. A prime marks a gradient, and (from above)_t is the
    gradient of h_t through the layers above:
    h_t' = (from above)_t + k_{t+1} h_{t+1}',   a_t' = h_t',   k_t' = h_t' h_{t-1}
    ``start`` has no gradient: a state that is carried over is a constant.
    """

    @staticmethod
    def forward(ctx: Any, kept_GTBH: Tensor, added_GTBH: Tensor, start_GBH: Tensor | None) -> Tensor:
        """Computes the states of all steps: h_GTBH."""
        if start_GBH is not None:
            first_GBH = torch.addcmul(added_GTBH[:, 0], kept_GTBH[:, 0], start_GBH)
            added_GTBH = torch.cat([first_GBH.unsqueeze(1), added_GTBH[:, 1:]], dim=1)
        h_GTBH = torch.empty_like(added_GTBH)
        scan(kept_GTBH, added_GTBH, h_GTBH)
        ctx.save_for_backward(kept_GTBH, h_GTBH, start_GBH)
        return h_GTBH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GTBH: Tensor) -> tuple[Tensor, Tensor, None]:
        """Returns the gradients of k and a."""
        kept_GTBH, h_GTBH, start_GBH = ctx.saved_tensors
        later_GTBH = torch.cat([kept_GTBH[:, :1], kept_GTBH[:, 1:].flip(1)], dim=1)  # the first entry has no effect
        to_h_GTBH = torch.empty_like(h_GTBH)
        scan(later_GTBH, above_GTBH.flip(1), to_h_GTBH)
        to_h_GTBH = to_h_GTBH.flip(1)
        first_GBH = torch.zeros_like(h_GTBH[:, 0]) if start_GBH is None else start_GBH
        before_GTBH = torch.cat([first_GBH.unsqueeze(1), h_GTBH[:, :-1]], dim=1)
        return to_h_GTBH * before_GTBH, to_h_GTBH, None


def scan(kept_GTBH: Tensor, added_GTBH: Tensor, h_GTBH: Tensor) -> None:
    """Fills ``h_GTBH`` with the states of the recurrence, from a state of zero. T steps take about 2 log2(T) sequential
    operations, which compute fewer than 3T steps in all.

    Two steps combine to a single one, h_{t+1} = k_{t+1} k_t h_{t-1} + (k_{t+1} a_t + a_{t+1}). So a scan of half as
    many steps computes every second state. One more step from each of these states computes the others (Blelloch, 1990,
    Prefix Sums and Their Applications). Nothing is divided, so a small k causes no overflow.
    """
    steps = h_GTBH.shape[1]
    h_GTBH[:, 0] = added_GTBH[:, 0]
    if steps == 1:
        return
    even, odd = slice(0, steps - 1, 2), slice(1, None, 2)
    pairs_GTBH = torch.addcmul(added_GTBH[:, odd], kept_GTBH[:, odd], added_GTBH[:, even])
    scan(kept_GTBH[:, odd] * kept_GTBH[:, even], pairs_GTBH, h_GTBH[:, odd])
    if steps > 2:
        later = slice(2, None, 2)
        torch.addcmul(added_GTBH[:, later], kept_GTBH[:, later], h_GTBH[:, 1 : steps - 1 : 2], out=h_GTBH[:, later])
