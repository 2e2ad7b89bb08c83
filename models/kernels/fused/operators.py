"""The kernels as operations of torch, ``torch.ops.skipstack.*``, so that torch's dispatch modes, such as the simulated
accelerator (``models/conformance/accelerator/simulated.py``), see each launch.

The operations of layers work on one step of contiguous rows, GBH or GBX: G groups = lanes * directions (a lane is one
seed's copy of the network), B sentences, H hidden units, X pre-activations. ``product`` is the matrix product of U
and the previous step's h; in the backward pass, of U^T and the next step's gradient. None means that there is no
previous or next step. Each operation launches the kernel of the same name (``kernels.py``).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from skipstack.models.ground.device import current

BLOCK = 256
"""The count of numbers that each program (Triton's unit of work) computes in a step. In ``uniform``, each program
computes 4 * ``BLOCK`` numbers. A GPU runs thousands of programs at a time."""

_DEFINED: Any = torch.library.Library("skipstack", "DEF")  # type: ignore[no-untyped-call]  # torch gives it no types
_DEFINED.define(
    "lstm_forward(Tensor x, Tensor? product, Tensor before, Tensor? internal, Tensor? output, Tensor? kept,"
    " Tensor(a!) gates, Tensor(b!) after, Tensor(c!) through, Tensor(d!)? whole, Tensor(e!) h, *, bool updated) -> ()"
)
_DEFINED.define(
    "lstm_backward(Tensor above, Tensor? product, Tensor gates, Tensor before, Tensor through,"
    " Tensor? kept, Tensor? whole, Tensor(a!) to_c, Tensor(b!) to_pre,"
    " Tensor(c!)? to_internal, Tensor(d!)? to_output, Tensor(e!)? to_kept, *, bool updated) -> ()"
)
_DEFINED.define(
    "block_forward(Tensor x, Tensor? product, Tensor? internal, Tensor? output, Tensor? shared,"
    " Tensor(a!) gates, Tensor(b!) through, Tensor(c!)? read, Tensor(d!) h) -> ()"
)
_DEFINED.define(
    "block_backward(Tensor above, Tensor? product, Tensor gates, Tensor through, Tensor read,"
    " Tensor(a!) to_pre, Tensor(b!)? to_internal, Tensor(c!)? to_output, Tensor(d!)? to_shared) -> ()"
)
_DEFINED.define("uniform(Tensor keys, int draw, Tensor? counted, Tensor(a!) out) -> ()")


def lstm_forward(
    x: Tensor,
    product: Tensor | None,
    before: Tensor,
    internal: Tensor | None,
    output: Tensor | None,
    kept: Tensor | None,
    gates: Tensor,
    after: Tensor,
    through: Tensor,
    whole: Tensor | None,
    h: Tensor,
    *,
    updated: bool,
) -> None:
    """Computes one step of an LSTM."""
    parts = x, product, before, internal, output, kept, gates, after, through, whole, h
    launch("lstm_forward", parts, h, gates.stride(0), h.stride(0), before.stride(0), UPDATED=updated)


def lstm_backward(
    above: Tensor,
    product: Tensor | None,
    gates: Tensor,
    before: Tensor,
    through: Tensor,
    *others: Tensor | None,
    updated: bool,
) -> None:
    """Computes the gradients of one step of an LSTM. ``others``: the kernel's arguments after ``through``."""
    strides = gates.stride(0), through.stride(0), before.stride(0)
    launch("lstm_backward", (above, product, gates, before, through, *others), through, *strides, UPDATED=updated)


def block_forward(
    x: Tensor,
    product: Tensor | None,
    internal: Tensor | None,
    output: Tensor | None,
    shared: Tensor | None,
    gates: Tensor,
    through: Tensor,
    read: Tensor | None,
    h: Tensor,
) -> None:
    """Computes one step of a block."""
    parts = x, product, internal, output, shared, gates, through, read, h
    launch("block_forward", parts, h, gates.stride(0), h.stride(0))


def block_backward(
    above: Tensor, product: Tensor | None, gates: Tensor, through: Tensor, *others: Tensor | None
) -> None:
    """Computes the gradients of one step of a block. ``others``: the kernel's arguments after ``through``."""
    launch("block_backward", (above, product, gates, through, *others), through, gates.stride(0), through.stride(0))


def launch(name: str, parts: tuple[Tensor | None, ...], like_GBH: Tensor, *strides: int, **constants: bool) -> None:
    """Launches the kernel ``name`` over all groups. ``parts``: the kernel's tensors. ``like_GBH``: a tensor with the
    sizes of one step. ``strides``: the kernel's distances between groups. ``constants``: compile-time arguments; each
    new value compiles the kernel again.
    """
    from skipstack.models.kernels.fused import kernels  # Triton is installed only with torch's builds for GPUs

    groups, sentences, hidden = like_GBH.shape
    size = sentences * hidden
    kernel: Any = getattr(kernels, name)
    kernel[(groups, -(-size // BLOCK))](*parts, size, hidden, *strides, **constants, BLOCK=BLOCK)


def uniform(keys: Tensor, draw: int, counted: Tensor | None, out: Tensor) -> None:
    """Fills ``out`` with uniform numbers, a row per lane. The draw's index is ``draw`` + ``counted`` (0 if None)."""
    from skipstack.models.kernels.fused import kernels

    blocks = out.shape[1] // 4
    kernels.uniform[(len(out), -(-blocks // BLOCK))](keys, draw, counted, out, blocks, BLOCK=BLOCK)


def where_its_numbers_are(function: Callable[..., None]) -> Callable[..., None]:
    """Decorates an operation to run on the GPU of its first tensor: Triton launches only on torch's current GPU."""

    @wraps(function)
    def launched(first: Tensor, *others: Any, **options: Any) -> None:
        with current(first.device):
            function(first, *others, **options)

    return launched


IMPLEMENTED = {
    each.__name__: where_its_numbers_are(each)
    for each in (lstm_forward, lstm_backward, block_forward, block_backward, uniform)
}
for _name, _function in IMPLEMENTED.items():
    _DEFINED.impl(_name, _function, "CompositeExplicitAutograd")

OPERATIONS: Any = torch.ops.skipstack
"""The namespace of the operations, through which loops over time and draws call them."""
