"""What kernels of a GPU refuse although those of a CPU take it: their checks on the host, read from torch's source."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def refusal(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Why an operation would raise on a GPU; None where it would not."""
    if func is torch.ops.aten._fused_adam_.tensor_lr:
        parameters, gradients, means, squares, _, steps = args[:6]
        return _adam(list(zip(parameters, gradients, means, squares, strict=True)), [kwargs["lr"], *steps])
    return None


def _adam(parts: Sequence[Sequence[Tensor]], numbers: Sequence[Tensor]) -> str | None:
    """``FusedAdamKernel.cu``: rates and steps are read as float32, and what belongs together is alike."""
    for each in numbers:
        if each.dtype != torch.float32:
            return f"expected a rate and steps in float32 (got {each.dtype})"
    for together in parts:
        if len({(each.dtype, each.shape, each.stride()) for each in together}) > 1:
            return "a parameter, its gradient and its averages have other types, shapes or strides"
    return None
