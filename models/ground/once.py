"""Cheaper versions of torch's custom autograd functions, for gradients that are not differentiated again."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that cannot be differentiated again, at less cost than torch's ``once_differentiable``.

    Torch's wrapper takes as long as a small operation. So the wrapper is called only if gradients are enabled during
    the backward pass, as for a second derivative. The decorated function raises RuntimeError if a tensor that the
    forward pass saved was overwritten. This holds even if ``backward`` reads the tensor as a numpy array.
    """
    guarded = once_differentiable(backward)

    @wraps(backward)
    def chosen(ctx: Any, *above: Any) -> Any:
        _ = ctx.saved_tensors  # makes torch check that no saved tensor was overwritten
        return guarded(ctx, *above) if torch.is_grad_enabled() else backward(ctx, *above)

    return chosen


class Once(torch.autograd.Function):
    """Base class of autograd functions whose ``backward`` is decorated with ``once``. The method ``apply`` skips
    torch's check for ``torch.func`` transforms, so the functions must not be used under vmap.
    """

    @classmethod
    def apply(cls, *given: Any) -> Any:
        """Call the function without torch's check for ``torch.func`` transforms."""
        return super(torch.autograd.Function, cls).apply(*given)  # type: ignore[misc]
