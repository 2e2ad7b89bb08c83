"""Repeats checks that torch's GPU kernels make of their arguments and its CPU kernels do not, after torch's source."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def refusal(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Return the reason why an operation would raise an error on a GPU with these arguments; None if it would not.

    Only the fused kernel of Adam is checked.
    """
    if func is torch.ops.aten._fused_adam_.tensor_lr:
        parameters, gradients, means, squares, _, steps = args[:6]
        return _adam(list(zip(parameters, gradients, means, squares, strict=True)), [kwargs["lr"], *steps])
    return None


def _adam(parts: Sequence[Sequence[Tensor]], numbers: Sequence[Tensor]) -> str | None:
    """Check the arguments of ``FusedAdamKernel.cu``: learning rates and steps must be in float32, and a parameter, its
    gradient and its averages must have the same dtype, shape and strides.

    ``parts``: the parameter, gradient and averages of each parameter. ``numbers``: the learning rate and the steps.
    """
    for each in numbers:
        if each.dtype != torch.float32:
            return f"expected a rate and steps in float32 (got {each.dtype})"
    for together in parts:
        if len({(each.dtype, each.shape, each.stride()) for each in together}) > 1:
            return "a parameter, its gradient and its averages have other types, shapes or strides"
    return None
