"""The precision of matrix products: chosen for the forward pass by a context, and the same in the backward pass.

All numbers of a network have one dtype; if that is float32, products may be taken in less. In bfloat16 both factors are
rounded to 8 bits, and products are summed in float32. In TF32, which GPUs since Ampere have, the GPU itself rounds them
to 11 bits; on other devices nothing is rounded. Everything else stays in float32: weights, additions, activations,
losses, updates, and products outside of ``models/kernels/products.py``.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias, TypeVar

import torch

Precision: TypeAlias = Literal["float32", "float64", "tf32", "bfloat16"]

FEW_ROWS, FEW_SENTENCES = 64, 16
"""Smaller products stay in float32, since rounding a matrix that is read once costs more than it saves. Rows of a
product over all time steps, and sentences of a product per step, whose matrix is rounded once for all steps. TF32 needs
no rounding beforehand."""

_around: ContextVar[Precision] = ContextVar("around", default="float32")

Class = TypeVar("Class", bound=type[torch.autograd.Function])


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Within the context, products are in this precision, and so are those of their gradients."""
    token = _around.set(precision)
    try:
        yield
    finally:
        _around.reset(token)


def rounds() -> bool:
    """Whether sufficiently large products are in bfloat16 here."""
    return _around.get() == "bfloat16"


def rounds_rows(rows: int) -> bool:
    """Whether a product with this many rows is in bfloat16."""
    return rounds() and not are_few(rows)


def are_few(rows: int) -> bool:
    """Whether a product has too few rows for rounding to pay: it stays in float32."""
    return rows < FEW_ROWS


def rounds_steps(sentences: int) -> bool:
    """Whether products per time step of this many sentences are in bfloat16."""
    return rounds() and sentences >= FEW_SENTENCES


def in_tf32() -> bool:
    """Whether products are in TF32 here, where the device has it."""
    return _around.get() == "tf32"


def multiplies(function: Class) -> Class:
    """Decorates a custom autograd function: its backward pass multiplies in the precision of its forward pass."""
    forward, backward = function.forward, function.backward

    @functools.wraps(forward)
    def forward_as_asked(ctx: Any, *given: Any) -> Any:
        ctx.precision = _around.get()
        with _multiplied_in(ctx.precision):
            return forward(ctx, *given)

    @functools.wraps(backward)
    def backward_as_forward(ctx: Any, *gradients: Any) -> Any:
        with _multiplied_in(ctx.precision):
            return backward(ctx, *gradients)

    function.forward = staticmethod(forward_as_asked)  # type: ignore[method-assign]
    function.backward = staticmethod(backward_as_forward)  # type: ignore[method-assign]
    return function


@contextmanager
def _multiplied_in(precision: Precision) -> Iterator[None]:
    """Sets torch's global switches, so that a GPU's products within the context are in ``precision``."""
    if precision not in ("tf32", "bfloat16"):
        yield
        return
    switches = torch.backends.cuda.matmul
    before = switches.fp32_precision, switches.allow_bf16_reduced_precision_reduction
    if precision == "tf32":
        switches.fp32_precision = "tf32"
    else:
        switches.allow_bf16_reduced_precision_reduction = False  # partial sums of a product stay in float32
    try:
        yield
    finally:
        switches.fp32_precision, switches.allow_bf16_reduced_precision_reduction = before
