"""Gradients that have no gradient themselves."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """As ``once_differentiable`` of torch, which is asked only where a gradient of the gradient might be wanted: to ask
    takes as long as a small operation.
    """
    guarded = once_differentiable(backward)

    @wraps(backward)
    def chosen(ctx: Any, *above: Any) -> Any:
        return guarded(ctx, *above) if torch.is_grad_enabled() else backward(ctx, *above)

    return chosen
