"""The recurrent matrix product, U h_{t-1} at every time step, with one product for the gradient of U."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from skipstack.models.ground.precision import multiplies
from skipstack.models.kernels.products import plus_product, step_weight, weight_gradient


class Recurrence:
    """pre_t = x_t + U h_{t-1}, where x_t are the pre-activations computed before the loop.

    Since dL/dU = sum_t dL/dpre_t h_{t-1}^T and dL/dpre_t = dL/dx_t, the gradient of U needs no term at each step: it is
    one product over all steps, taken once the gradient of x is complete. Within the loop U is a constant.
    """

    def __init__(self, weight_GFX: Tensor, x_GTBX: Tensor) -> None:
        self.constant_GFX = step_weight(weight_GFX, x_GTBX.shape[2])
        self.learns = torch.is_grad_enabled() and weight_GFX.requires_grad
        self.previous_TGBF: list[Tensor] = []
        if self.learns:
            x_GTBX = _Tap.apply(x_GTBX, weight_GFX, self.constant_GFX, self.previous_TGBF)  # type: ignore[no-untyped-call]
        self.x_TGBX: tuple[Tensor, ...] = x_GTBX.unbind(1)

    def pre(self, step: int, h_GBF: Tensor) -> Tensor:
        """x_t + U h_{t-1}, to be called once for each step, in order."""
        if self.learns:
            self.previous_TGBF.append(h_GBF.detach())
        return plus_product(self.x_TGBX[step], h_GBF, self.constant_GFX)


@multiplies
class _Tap(torch.autograd.Function):
    """Returns x unchanged; the backward pass also computes the gradient of U, from that of x and the states of the
    loop.
    """

    @staticmethod
    def forward(
        ctx: Any, x_GTBX: Tensor, weight_GFX: Tensor, constant_GFX: Tensor, previous_TGBF: list[Tensor]
    ) -> Tensor:
        ctx.constant_GFX = constant_GFX
        ctx.previous_TGBF = previous_TGBF
        return x_GTBX.view_as(x_GTBX)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Any) -> Any:
        (pre_GTBX,) = gradients
        previous_GTBF = torch.stack(ctx.previous_TGBF, dim=1)  # type: ignore[attr-defined]
        constant_GFX = ctx.constant_GFX  # type: ignore[attr-defined]
        weight_GFX = weight_gradient(previous_GTBF.flatten(1, 2), pre_GTBX.flatten(1, 2), constant_GFX)
        return pre_GTBX, weight_GFX, None, None
