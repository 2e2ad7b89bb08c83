"""The recurrent matrix product U h_{t-1} at every time step. One product over all steps computes the gradient of U.

Axes: G groups = lanes * directions (a lane is one seed's copy of the network), T time steps, B sentences,
X pre-activations, F entries of h, the output of a step, which U multiplies.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.products import plus_product, step_weight, weight_gradient


class State(NamedTuple):
    """The state h_{t-1} that a step read. ``version``: how often the tensor had been written to before the step."""

    h_GBF: Tensor
    version: int


class Recurrence:
    """Computes pre_t = x_t + U h_{t-1} step by step, where x_t are the pre-activations computed before the loop.

    Within the loop U is a constant. When the gradient of x is complete, one product over all steps computes the
    gradient of U: dL/dU = sum_t dL/dpre_t h_{t-1}^T, where dL/dpre_t = dL/dx_t.
    """

    def __init__(self, weight_GFX: Tensor, x_GTBX: Tensor) -> None:
        self.constant_GFX = step_weight(weight_GFX, x_GTBX.shape[2])
        self.learns = torch.is_grad_enabled() and weight_GFX.requires_grad
        self.previous_TGBF: list[State] = []
        if self.learns:
            x_GTBX = _Tap.apply(x_GTBX, weight_GFX, self.constant_GFX, self.previous_TGBF)  # type: ignore[no-untyped-call]
        self.x_TGBX: tuple[Tensor, ...] = x_GTBX.unbind(1)

    def pre(self, step: int, h_GBF: Tensor) -> Tensor:
        """Returns x_t + U h_{t-1} of step t, where ``h_GBF`` is h_{t-1}. Call this once for each step, in order."""
        if self.learns:
            self.previous_TGBF.append(State(h_GBF.detach(), _version(h_GBF)))
        return plus_product(self.x_TGBX[step], h_GBF, self.constant_GFX)


@multiplies
class _Tap(torch.autograd.Function):
    """Returns x unchanged. The backward pass also computes the gradient of U, from the loop's ``previous_TGBF``."""

    @staticmethod
    def forward(
        ctx: Any, x_GTBX: Tensor, weight_GFX: Tensor, constant_GFX: Tensor, previous_TGBF: list[State]
    ) -> Tensor:
        ctx.save_for_backward(constant_GFX)
        ctx.previous_TGBF = previous_TGBF
        return x_GTBX.view_as(x_GTBX)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Returns the gradients of x and U. Raises RuntimeError if a state was overwritten after a step read it."""
        (pre_GTBX,), (constant_GFX,) = gradients, ctx.saved_tensors
        if any(_version(h_GBF) != version for h_GBF, version in ctx.previous_TGBF):
            raise RuntimeError("a state of a loop, from which a gradient is, has been modified by an inplace operation")
        previous_GTBF = torch.stack([h_GBF for h_GBF, _ in ctx.previous_TGBF], dim=1)
        weight_GFX = weight_gradient(previous_GTBF.flatten(1, 2), pre_GTBX.flatten(1, 2), constant_GFX)
        return pre_GTBX, weight_GFX, None, None


def _version(tensor: Tensor) -> int:
    """Returns how often the tensor was written to; 0 if torch does not report it."""
    return getattr(tensor, "_version", 0)
