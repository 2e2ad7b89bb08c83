"""Cheaper versions of torch's custom autograd functions, for gradients that are not differentiated again."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Like torch's ``once_differentiable``, but calls it only if a second derivative might be wanted: the call takes as
    long as a small operation.

    The result raises RuntimeError if a tensor that the forward pass saved has been overwritten since, also if
    ``backward`` reads it as an array.
    """
    guarded = once_differentiable(backward)

    @wraps(backward)
    def chosen(ctx: Any, *above: Any) -> Any:
        _ = ctx.saved_tensors  # torch checks that none was overwritten
        return guarded(ctx, *above) if torch.is_grad_enabled() else backward(ctx, *above)

    return chosen


class Once(torch.autograd.Function):
    """An autograd function whose ``backward`` is decorated with ``once``. It skips torch's check for ``torch.func``
    transforms: never use it under vmap.
    """

    @classmethod
    def apply(cls, *given: Any) -> Any:
        """Calls the function, without torch's check for ``torch.func`` transforms."""
        return super(torch.autograd.Function, cls).apply(*given)  # type: ignore[misc]
