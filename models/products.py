"""Matrix products in the precision of the training. G batches, N rows.

All numbers of a network are of one type; where that is float32, products may be taken in bfloat16: both factors are
rounded to its 8 bits, and what they are multiplied to is summed up in float32; torch, which multiplies where nothing is
compiled, rounds the sum once more. So are the two products of a gradient. Everything else stays as it is: weights,
additions, activations, losses, updates.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from skipstack.models.compiled.choice import compiles, multiplies_bfloat16

FEW_ROWS, FEW_SENTENCES = 64, 16
"""Products of fewer rows stay as they are, since rounding a matrix that is read once gains nothing: of all time steps
at once, and of a step, whose matrix is rounded once for all of them."""

_rounds: ContextVar[bool] = ContextVar("rounds", default=False)


@contextmanager
def in_bfloat16(wanted: bool) -> Iterator[None]:
    """Products in here are in bfloat16, where ``wanted``, and so are those of the gradients of what is computed."""
    token = _rounds.set(wanted)
    try:
        yield
    finally:
        _rounds.reset(token)


def product(x_GNI: Tensor, weight_GIO: Tensor, bias: Tensor | None = None) -> Tensor:
    """X W, or X W + b."""
    rows = x_GNI.shape[1]
    if rows >= FEW_ROWS and compiles(x_GNI) and (not rounds() or multiplies_bfloat16()):
        from skipstack.models.compiled.dense import CompiledProduct  # numba takes a quarter of a second to load

        compiled_GNO: Tensor = CompiledProduct.apply(x_GNI, weight_GIO, bias, rounds())  # type: ignore[no-untyped-call]
        return compiled_GNO
    if rounds_rows(rows):
        rounded_GNO: Tensor = _Rounded.apply(x_GNI, weight_GIO)  # type: ignore[no-untyped-call]
        return rounded_GNO if bias is None else rounded_GNO + bias
    return torch.bmm(x_GNI, weight_GIO) if bias is None else torch.baddbmm(bias, x_GNI, weight_GIO)


def rounds() -> bool:
    """Whether products are in bfloat16 here, where they are large enough."""
    return _rounds.get()


def rounds_rows(rows: int) -> bool:
    """Whether a product of so many rows is."""
    return rounds() and rows >= FEW_ROWS


def rounds_steps(sentences: int) -> bool:
    """Whether those of the steps of so many sentences are."""
    return rounds() and sentences >= FEW_SENTENCES


def step_weight(weight_GHX: Tensor, sentences: int) -> Tensor:
    """U as each step of a loop multiplies by it, a constant: rounded where products are."""
    return weight_GHX.detach().bfloat16() if rounds_steps(sentences) else weight_GHX.detach()


def transposed(step_GHX: Tensor) -> Tensor:
    """U^T of such a weight."""
    transposed_GXH = step_GHX.transpose(1, 2)
    return transposed_GXH.contiguous() if step_GHX.dtype is torch.bfloat16 else transposed_GXH


def plus_product(x_GBX: Tensor, h_GBH: Tensor, step_GHX: Tensor, out: Tensor | None = None) -> Tensor:
    """The sum x + U h, by what ``step_weight`` gives; into ``out``, if given, where no gradient is asked for."""
    if step_GHX.dtype is not torch.bfloat16:
        return torch.baddbmm(x_GBX, h_GBH, step_GHX, out=out)
    return torch.add(x_GBX, torch.bmm(h_GBH.to(step_GHX.dtype), step_GHX), out=out)


def weight_gradient(h_GNH: Tensor, pre_GNX: Tensor, step_GHX: Tensor) -> Tensor:
    """U' = sum h pre'^T over all rows, by a product as that of the steps."""
    if step_GHX.dtype is not torch.bfloat16:
        return torch.bmm(h_GNH.transpose(1, 2), pre_GNX)
    return _outer(h_GNH.to(step_GHX.dtype), pre_GNX.to(step_GHX.dtype))


class _Rounded(torch.autograd.Function):
    """X W with factors in bfloat16, X' = Y' W^T and W' = X^T Y' likewise."""

    @staticmethod
    def forward(ctx: Any, x_GNI: Tensor, weight_GIO: Tensor) -> Tensor:
        """In float32."""
        x, weight = x_GNI.bfloat16(), weight_GIO.bfloat16()
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight).float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_GNO: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Of both factors, as far as they are asked for."""
        x_GNI, weight_GIO = ctx.saved_tensors
        gradient = gradient_GNO.bfloat16()
        x_asked, weight_asked = ctx.needs_input_grad
        of_x = torch.bmm(gradient, weight_GIO.transpose(1, 2)).float() if x_asked else None
        return of_x, _outer(x_GNI, gradient) if weight_asked else None


def _outer(x_GNI: Tensor, y_GNO: Tensor) -> Tensor:
    """X^T Y in float32; the transposed matrix is copied, which makes the product twice as fast."""
    return torch.bmm(x_GNI.transpose(1, 2).contiguous(), y_GNO).float()
