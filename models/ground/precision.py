"""In which precision matrix products are taken: forward as is asked for around them, backward as forward.

All numbers of a network are of one type; where that is float32, products may be taken in less. In bfloat16 both factors
are rounded to its 8 bits, and what they are multiplied to is summed up in float32. In TF32, which GPUs since Ampere
have, they are rounded to 11 bits, by the GPU itself; elsewhere nothing is. Everything else stays as it is: weights,
additions, activations, losses, updates, and the products that are not those of ``models/kernels/products.py``.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias, TypeVar

import torch

Precision: TypeAlias = Literal["float32", "float64", "tf32", "bfloat16"]

FEW_ROWS, FEW_SENTENCES = 64, 16
"""Products of fewer rows are not in bfloat16, since rounding a matrix that is read once gains nothing: of all time
steps at once, and of a step, whose matrix is rounded once for all of them. In TF32 nothing is rounded beforehand."""

_around: ContextVar[Precision] = ContextVar("around", default="float32")

Class = TypeVar("Class", bound=type[torch.autograd.Function])


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Products in here are in it, and so are those of the gradients of what is computed."""
    token = _around.set(precision)
    try:
        yield
    finally:
        _around.reset(token)


def rounds() -> bool:
    """Whether products are in bfloat16 here, where they are large enough."""
    return _around.get() == "bfloat16"


def rounds_rows(rows: int) -> bool:
    """Whether a product of so many rows is."""
    return rounds() and not are_few(rows)


def are_few(rows: int) -> bool:
    """Whether a product has so few rows that it is left as it is."""
    return rows < FEW_ROWS


def rounds_steps(sentences: int) -> bool:
    """Whether those of the steps of so many sentences are."""
    return rounds() and sentences >= FEW_SENTENCES


def in_tf32() -> bool:
    """Whether products are in TF32 here, where the device has it."""
    return _around.get() == "tf32"


def multiplies(function: Class) -> Class:
    """A function with a backward pass of its own, which multiplies as it did forward."""
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
    """Torch's switches, which are the whole process's: a GPU's products in here are in ``precision``."""
    if precision not in ("tf32", "bfloat16"):
        yield
        return
    switches = torch.backends.cuda.matmul
    before = switches.fp32_precision, switches.allow_bf16_reduced_precision_reduction
    if precision == "tf32":
        switches.fp32_precision = "tf32"
    else:
        switches.allow_bf16_reduced_precision_reduction = False  # sums of parts of a product stay in float32
    try:
        yield
    finally:
        switches.fp32_precision, switches.allow_bf16_reduced_precision_reduction = before
