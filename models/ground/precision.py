"""The precision of matrix products. The context ``products_in`` sets this precision for a forward and backward pass.

All numbers of a network have one dtype. With float32, matrix products may have a lower precision. In bfloat16, both
factors are rounded to 8 bits, and the products of their entries are summed in float32. In TF32, GPUs since Ampere round
the factors to 11 bits. Other devices round nothing. Everything else stays in float32: weights, additions, activations,
losses, updates, and products outside of ``models/kernels/``.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition, Lock, local
from typing import Any, Final, Literal, TypeAlias, TypeVar

import torch

Precision: TypeAlias = Literal["float32", "float64", "tf32", "bfloat16"]

FEW_ROWS, FEW_SENTENCES = 64, 16
"""Minimum sizes of products whose factors are rounded to bfloat16. ``FEW_ROWS``: rows of a product over all time steps.
``FEW_SENTENCES``: sentences of a product at each step. Smaller products take longer with rounding than without.
``FEW_SENTENCES`` is lower, since the weight matrix is rounded once for all steps. TF32 has no such limits, since
nothing is rounded beforehand."""

_around: ContextVar[Precision] = ContextVar("around", default="float32")

Class = TypeVar("Class", bound=type[torch.autograd.Function])


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Set the precision of matrix products within the context, and of the products in their backward pass.

    Torch's switch for TF32 is process-wide, so threads in TF32 and threads in other precisions wait for each other.
    """
    token = _around.set(precision)
    try:
        with _TURNS.taken("tf32" if precision == "tf32" else "exact"):
            yield
    finally:
        _around.reset(token)


def rounds() -> bool:
    """Whether the current context rounds sufficiently large products to bfloat16."""
    return _around.get() == "bfloat16"


def rounds_rows(rows: int) -> bool:
    """Whether the current context rounds a product with this many rows to bfloat16."""
    return rounds() and not are_few(rows)


def are_few(rows: int) -> bool:
    """Whether a product has too few rows for rounding to pay."""
    return rows < FEW_ROWS


def rounds_steps(sentences: int) -> bool:
    """Whether the current context rounds the products of a time step with this many sentences to bfloat16."""
    return rounds() and sentences >= FEW_SENTENCES


def in_tf32() -> bool:
    """Whether the current context asks for products in TF32. Devices without TF32 then compute in float32."""
    return _around.get() == "tf32"


def multiplies(function: Class) -> Class:
    """Decorate a custom autograd function so that its backward pass multiplies in the precision of its forward pass."""
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
    """Set torch's global switches so that a GPU's products within the context have this ``precision``."""
    switch = _SWITCHES.get(precision)
    if switch is None:
        yield
        return
    with switch.held():
        yield


class _Switch:
    """Sets a global setting ``name`` of torch's matrix products to ``value`` while any thread holds the switch."""

    def __init__(self, name: str, value: str | bool) -> None:
        self.name, self.value = name, value
        self.lock, self.holders, self.before = Lock(), 0, value

    @contextmanager
    def held(self) -> Iterator[None]:
        with self.lock:
            if self.holders == 0:
                self.before = getattr(torch.backends.cuda.matmul, self.name)
                setattr(torch.backends.cuda.matmul, self.name, self.value)
            self.holders += 1
        try:
            yield
        finally:
            with self.lock:
                self.holders -= 1
                if self.holders == 0:
                    setattr(torch.backends.cuda.matmul, self.name, self.before)


TF32: Final[tuple[str, str | bool]] = (
    ("fp32_precision", "tf32") if hasattr(torch.backends.cuda.matmul, "fp32_precision") else ("allow_tf32", True)
)
"""Name and value of torch's switch for TF32: the first pair since torch 2.9, the second before."""

_SWITCHES: Final[Mapping[str, _Switch]] = {
    "tf32": _Switch(*TF32),
    "bfloat16": _Switch("allow_bf16_reduced_precision_reduction", False),  # partial sums of a product stay in float32
}
"""The switch of each precision that needs one."""


class _Turns:
    """Lets threads that need different process-wide settings take turns. Threads with the same setting share a turn."""

    def __init__(self) -> None:
        self.changed, self.own = Condition(), local()
        self.present, self.inside = "", 0
        self.waiting = Counter[str]()

    @contextmanager
    def taken(self, wanted: str) -> Iterator[None]:
        """Wait for a turn with the setting ``wanted``; the turn lasts as long as the context.

        A thread that already has a turn does not wait, whichever setting it wants.
        """
        if getattr(self.own, "taken", False):
            yield
            return
        with self.changed:
            self.waiting[wanted] += 1
            self.changed.wait_for(lambda: self._may_enter(wanted))
            self.waiting[wanted] -= 1
            self.present, self.inside, self.own.taken = wanted, self.inside + 1, True
        try:
            yield
        finally:
            with self.changed:
                self.inside, self.own.taken = self.inside - 1, False
                self.changed.notify_all()

    def _may_enter(self, wanted: str) -> bool:
        """Whether a thread may begin a turn. It may if no thread has a turn. It also may if the current setting is
        ``wanted``, and no thread waits for another setting: that thread might otherwise wait for ever.
        """
        others = self.waiting.total() > self.waiting[wanted]
        return self.inside == 0 or (self.present == wanted and not others)


_TURNS: Final = _Turns()
