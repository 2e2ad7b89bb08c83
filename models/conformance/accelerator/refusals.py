"""Arguments that GPU kernels refuse and CPU kernels accept: the kernels' checks on the host, from torch's source."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def refusal(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """The reason for which an operation would raise on a GPU; None if it would not raise."""
    if func is torch.ops.aten._fused_adam_.tensor_lr:
        parameters, gradients, means, squares, _, steps = args[:6]
        return _adam(list(zip(parameters, gradients, means, squares, strict=True)), [kwargs["lr"], *steps])
    return None


def _adam(parts: Sequence[Sequence[Tensor]], numbers: Sequence[Tensor]) -> str | None:
    """``FusedAdamKernel.cu``: rates and steps in float32; parameter, gradient and averages of one type and layout."""
    for each in numbers:
        if each.dtype != torch.float32:
            return f"expected a rate and steps in float32 (got {each.dtype})"
    for together in parts:
        if len({(each.dtype, each.shape, each.stride()) for each in together}) > 1:
            return "a parameter, its gradient and its averages have other types, shapes or strides"
    return None
