"""Matrix products in the precision of the training (``models/ground/precision.py``).

Without compiled code, torch multiplies, and rounds the result of a product in bfloat16 to bfloat16. On a CPU, torch's
order of summation depends on the alignment of the factors in memory. The result of a lane (one seed's copy of the
network) would then depend on the lanes before it. So on a CPU, ``product`` and ``batches`` multiply each batch
separately, with factors that begin at a cache line. Exceptions are exports, and ``product`` in bfloat16 or TF32.

Axes: G batches, N rows, I inputs and O outputs of a product; in recurrent products, B sentences, H hidden units,
X pre-activations.
"""

from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.ground.precision import in_tf32, multiplies, rounds, rounds_rows, rounds_steps
from skipstack.models.ground.scanning import exporting
from skipstack.models.kernels.bounds import check_shape
from skipstack.models.kernels.choice import choose

LINE: Final = 64
"""Bytes of a cache line. Each tensor that torch allocates begins at the start of a line."""


def product(x_GNI: Tensor, weight_GIO: Tensor, bias: Tensor | None = None) -> Tensor:
    """Computes X W, or X W + b, for each of G batches, in the precision of the training: y_GNO."""
    rows = x_GNI.shape[1]
    if choose("dense", x_GNI, rows) == "compiled":
        from skipstack.models.kernels.compiled.dense import CompiledProduct  # numba takes a quarter of a second to load

        check_shape("the rows of a product", x_GNI, len(weight_GIO), rows, weight_GIO.shape[1])
        compiled_GNO: Tensor = CompiledProduct.apply(x_GNI, weight_GIO, bias, rounds())
        return compiled_GNO
    if rounds_rows(rows):
        return _applied(x_GNI, weight_GIO, bias, torch.bfloat16)
    if in_tf32():
        return _applied(x_GNI, weight_GIO, bias, x_GNI.dtype)
    if _are_apart(x_GNI, weight_GIO):
        by_itself_GNO: Tensor = _ByItself.apply(x_GNI, weight_GIO, bias)  # type: ignore[no-untyped-call]
        return by_itself_GNO
    return torch.bmm(x_GNI, weight_GIO) if bias is None else torch.baddbmm(bias, x_GNI, weight_GIO)


def batches(x_GNI: Tensor, y_GIO: Tensor) -> Tensor:
    """Computes X Y for each of G batches, without a gradient. On a CPU, batches do not affect each other's bits."""
    if not _are_apart(x_GNI, y_GIO):
        return torch.bmm(x_GNI, y_GIO)
    return torch.cat([torch.bmm(x, y) for x, y in zip(_apart(x_GNI), _apart(y_GIO), strict=True)])


def step_weight(weight_GHX: Tensor, sentences: int) -> Tensor:
    """Returns U as a constant for the steps of a loop, in bfloat16 if products with ``sentences`` rows
    are rounded.
    """
    return weight_GHX.detach().bfloat16() if rounds_steps(sentences) else weight_GHX.detach()


def transposed(step_GHX: Tensor) -> Tensor:
    """Returns U^T, where U is a result of ``step_weight``."""
    transposed_GXH = step_GHX.transpose(1, 2)
    return transposed_GXH.contiguous() if step_GHX.dtype is torch.bfloat16 else transposed_GXH


def plus_product(x_GBX: Tensor, h_GBH: Tensor, step_GHX: Tensor, out: Tensor | None = None) -> Tensor:
    """Computes x + U h, where U is a result of ``step_weight``. With ``out``, writes the result to ``out``,
    without a gradient.
    """
    if step_GHX.dtype is torch.bfloat16:
        return torch.add(x_GBX, torch.bmm(h_GBH.to(step_GHX.dtype), step_GHX), out=out)
    if in_tf32() and torch.is_grad_enabled():
        return _applied(h_GBH, step_GHX, x_GBX, step_GHX.dtype)
    return torch.baddbmm(x_GBX, h_GBH, step_GHX, out=out)


def step_product(h_GBH: Tensor, step_GHX: Tensor, out: Tensor) -> Tensor:
    """Computes U h into ``out``, in the type of U, where U is a result of ``step_weight``."""
    return torch.bmm(h_GBH.to(step_GHX.dtype), step_GHX, out=out)


def weight_gradient(h_GNH: Tensor, pre_GNX: Tensor, step_GHX: Tensor) -> Tensor:
    """Computes U' = sum_n h_n pre_n'^T in the steps' precision. ``pre_GNX``: pre', the pre-activations' gradient."""
    if step_GHX.dtype is not torch.bfloat16:
        return torch.bmm(h_GNH.transpose(1, 2), pre_GNX)
    transposed_GHN = h_GNH.to(step_GHX.dtype).transpose(1, 2).contiguous()  # the copy makes the product twice as fast
    return torch.bmm(transposed_GHN, pre_GNX.to(step_GHX.dtype)).float()


class _ByItself(torch.autograd.Function):
    """Computes X W, or X W + b, for each of G batches separately. b has one row, or as many as X."""

    @staticmethod
    def forward(ctx: Any, x_GNI: Tensor, weight_GIO: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x_GNI, weight_GIO)
        ctx.one_row = bias is not None and bias.shape[1] == 1
        if bias is None:
            return batches(x_GNI, weight_GIO)
        each = zip(_apart(bias), _apart(x_GNI), _apart(weight_GIO), strict=True)
        return torch.cat([torch.baddbmm(b, x, weight) for b, x, weight in each])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above_GNO: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradients X' = Y' W^T, W' = X^T Y' and b' = Y' (summed if b has one row). Y' is the gradient of
        the result. None stands for a gradient that is not needed.
        """
        x_GNI, weight_GIO = ctx.saved_tensors
        x_asked, weight_asked, bias_asked = ctx.needs_input_grad
        of_x = batches(above_GNO, weight_GIO.transpose(1, 2)) if x_asked else None
        of_weight = batches(x_GNI.transpose(1, 2), above_GNO) if weight_asked else None
        of_bias = above_GNO.sum(dim=1, keepdim=True) if ctx.one_row else above_GNO
        return of_x, of_weight, of_bias if bias_asked else None


@multiplies
class _Product(torch.autograd.Function):
    """Computes X W + b with factors of type ``factors``, also in the backward pass. b has one row, or as many as X."""

    @staticmethod
    def forward(ctx: Any, x_GNI: Tensor, weight_GIO: Tensor, bias: Tensor | None, factors: torch.dtype) -> Tensor:
        x, weight = x_GNI.to(factors), weight_GIO.to(factors)
        ctx.save_for_backward(x, weight)
        ctx.one_row = bias is not None and bias.shape[1] == 1
        if bias is not None and factors is x_GNI.dtype:
            return torch.baddbmm(bias, x, weight)
        product_GNO = torch.bmm(x, weight).to(x_GNI.dtype)
        return product_GNO if bias is None else product_GNO.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_GNO: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        x_GNI, weight_GIO = ctx.saved_tensors
        gradient = gradient_GNO.to(weight_GIO.dtype)
        x_asked, weight_asked, bias_asked, _ = ctx.needs_input_grad
        of_x = torch.bmm(gradient, weight_GIO.transpose(1, 2)).to(gradient_GNO.dtype) if x_asked else None
        of_weight = weight_gradient(x_GNI, gradient, weight_GIO).to(gradient_GNO.dtype) if weight_asked else None
        of_bias = gradient_GNO.sum(dim=1, keepdim=True) if ctx.one_row else gradient_GNO
        return of_x, of_weight, of_bias if bias_asked else None, None


def _applied(x_GNI: Tensor, weight_GIO: Tensor, bias: Tensor | None, factors: torch.dtype) -> Tensor:
    product_GNO: Tensor = _Product.apply(x_GNI, weight_GIO, bias, factors)  # type: ignore[no-untyped-call]
    return product_GNO


def _are_apart(x_GNI: Tensor, y_GIO: Tensor) -> bool:
    """Returns whether batches are multiplied separately: on a CPU, except in exports and for a single aligned batch."""
    return x_GNI.is_cpu and not exporting() and (len(x_GNI) > 1 or not (_begins(x_GNI) and _begins(y_GIO)))


def _apart(x_GNI: Tensor) -> list[Tensor]:
    """Returns the batches as a list. Each begins at the start of a cache line, after a copy if necessary."""
    return [each if _begins(each) else each.clone() for each in torch.split(x_GNI, 1)]


def _begins(x: Tensor) -> bool:
    """Returns whether the tensor begins at the start of a cache line."""
    return x.data_ptr() % LINE == 0
