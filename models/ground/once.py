"""Functions with a gradient of their own, which has no gradient itself, at as little cost of calls as torch allows."""

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


class Once(torch.autograd.Function):
    """A function whose ``backward`` is ``once``, in no transform of ``torch.func``, for which torch looks each time."""

    @classmethod
    def apply(cls, *given: Any) -> Any:
        """As ever."""
        return super(torch.autograd.Function, cls).apply(*given)  # type: ignore[misc]
