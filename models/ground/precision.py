"""The precision of matrix products: chosen for the forward pass by a context, and the same in the backward pass.

All numbers of a network have one dtype; if that is float32, products may have a lower precision. In bfloat16 both
factors are rounded to 8 bits, and products are summed in float32. In TF32, which GPUs since Ampere have, the GPU itself
rounds factors to 11 bits; on other devices nothing is rounded. Everything else stays in float32: weights, additions,
activations, losses, updates, and products outside of ``models/kernels/products.py``.
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
"""The least rows of a product over all time steps, and the least sentences of a product per step, that are rounded to
bfloat16. Smaller products stay in float32: rounding a matrix that is read once costs more than it saves (the matrix of
the steps is rounded once for all of them). TF32 needs no rounding beforehand."""

_around: ContextVar[Precision] = ContextVar("around", default="float32")

Class = TypeVar("Class", bound=type[torch.autograd.Function])


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Sets the precision of products within the context, and of those in their backward pass.

    Torch's switch for TF32 applies to the whole process, so threads take turns: while some use TF32, others wait.
    """
    token = _around.set(precision)
    try:
        with _TURNS.taken("tf32" if precision == "tf32" else "exact"):
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
    switch = _SWITCHES.get(precision)
    if switch is None:
        yield
        return
    with switch.held():
        yield


class _Switch:
    """A switch of torch for the whole process: set for as long as any thread holds it, then restored."""

    def __init__(self, name: str, value: str | bool) -> None:
        self.name, self.value = name, value
        self.lock, self.holders, self.before = Lock(), 0, value

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the switch for as long as the context lasts."""
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
"""Name and value of torch's switch for TF32, which was another one before torch 2.9."""

_SWITCHES: Final[Mapping[str, _Switch]] = {
    "tf32": _Switch(*TF32),
    "bfloat16": _Switch("allow_bf16_reduced_precision_reduction", False),  # partial sums of a product stay in float32
}
"""Switches by the precision that needs one."""


class _Turns:
    """Turns of threads that need different settings of the whole process: those with the same run together, the others
    wait.
    """

    def __init__(self) -> None:
        self.changed, self.own = Condition(), local()
        self.present, self.inside = "", 0
        self.waiting = Counter[str]()

    @contextmanager
    def taken(self, wanted: str) -> Iterator[None]:
        """Waits for a turn, which lasts as long as the context; a thread that is within one does not wait."""
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
        """Whether a thread may begin its turn. While threads with another setting wait, none joins those inside: the
        waiting ones might otherwise wait for ever.
        """
        others = self.waiting.total() > self.waiting[wanted]
        return self.inside == 0 or (self.present == wanted and not others)


_TURNS: Final = _Turns()
