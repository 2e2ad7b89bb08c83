"""Cheaper versions of torch's custom autograd functions, for gradients that are not differentiated again."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Like torch's ``once_differentiable``, but calls it only where a second derivative might be wanted: the call takes
    as long as a small operation.

    It raises RuntimeError where a tensor that the forward pass saved has been written over since, also if ``backward``
    reads it as an array.
    """
    guarded = once_differentiable(backward)

    @wraps(backward)
    def chosen(ctx: Any, *above: Any) -> Any:
        _ = ctx.saved_tensors  # torch looks whether each is as it was
        return guarded(ctx, *above) if torch.is_grad_enabled() else backward(ctx, *above)

    return chosen


class Once(torch.autograd.Function):
    """A function whose ``backward`` is ``once``. It skips torch's check for ``torch.func`` transforms: never use it
    under vmap.
    """

    @classmethod
    def apply(cls, *given: Any) -> Any:
        """As ever."""
        return super(torch.autograd.Function, cls).apply(*given)  # type: ignore[misc]
