"""A sigmoid whose bits depend on the number alone, not on its position in an array.

On a CPU, the last few numbers of an array may not fill a vector register. Torch computes these numbers by another
function, whose result sometimes differs in the last bit. So the result of a lane (one seed's copy of the network) would
depend on whether other lanes follow this lane in an array.
"""

from typing import Any

import torch
from torch import Tensor

from skipstack.models.ground.once import Once, once
from skipstack.models.ground.scanning import exporting


def sigmoid(x: Tensor) -> Tensor:
    """Computes 1 / (1 + e^-x)."""
    if exporting() or not x.is_cpu:
        return torch.sigmoid(x)
    if not (x.requires_grad and torch.is_grad_enabled()):
        return _made(x)
    made: Tensor = _Sigmoid.apply(x)
    return made


def _made(x: Tensor) -> Tensor:
    """Computes the sigmoid from torch operations that give the same bits for a number anywhere in an array."""
    return torch.neg(x).exp_().add_(1).reciprocal_()


class _Sigmoid(Once):
    """Computes the sigmoid by the steps of ``_made``, with its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = _made(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once
    def backward(ctx: Any, above: Tensor) -> Tensor:
        """Returns the gradient of x: y' y (1 - y), where y' is ``above``."""
        (y,) = ctx.saved_tensors
        gradient: Tensor = torch.ops.aten.sigmoid_backward(above, y)
        return gradient
