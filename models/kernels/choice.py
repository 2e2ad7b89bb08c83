"""The versions of each operation, and the function ``choose``, which selects the version that runs.

``reference``: torch's operations, which define the result and run everywhere. For a recurrent layer, this is the loop
over its cell's steps (``models/layers/cell.py``). ``compiled``: numba's machine code, on a CPU. ``fused``: Triton's
kernels, on a GPU. Importing this module loads neither numba nor Triton. A choice loads the package that it depends on.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.models.ground.device import SIMULATED
from skipstack.models.ground.kernel_names import KERNELS, VARIABLE, Kernels, named
from skipstack.models.ground.precision import are_few, rounds
from skipstack.models.ground.scanning import exporting
from skipstack.models.kernels import abilities

HOST: Final = "host"
"""A device name for numpy arrays, which are not yet tensors on a device."""
GPUS: Final = frozenset({"cuda", SIMULATED})
TYPES: Final = frozenset({torch.float32, torch.float64})
"""The types of numbers for which operations are compiled."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The versions of an operation besides the reference.

    ``compiled``, ``fused``: whether there is such a version. ``hides``: whether these versions lack the pre-activations
    and states that an inspection of layers needs. ``of_many_rows``: whether the compiled version is only for products
    of many rows.

    ``in_bfloat16``: what a CPU runs if matrix products are to be rounded to bfloat16. "rounded": the compiled version,
    which rounds the factors of its products, or the reference if the CPU cannot multiply in bfloat16. "exact": the
    compiled version, without rounding. "reference": the reference. None: the operation multiplies no matrices.
    """

    compiled: bool = False
    fused: bool = False
    in_bfloat16: Literal["rounded", "exact", "reference"] | None = None
    hides: bool = False
    of_many_rows: bool = False


OPERATIONS: Final[Mapping[str, Operation]] = {
    "lstm": Operation(compiled=True, fused=True, in_bfloat16="rounded", hides=True),
    "both_ways": Operation(compiled=True, in_bfloat16="rounded", hides=True),
    "block": Operation(compiled=True, fused=True, in_bfloat16="rounded", hides=True),
    "gru": Operation(compiled=True, in_bfloat16="rounded", hides=True),
    "minimal": Operation(compiled=True, in_bfloat16="rounded", hides=True),
    "skip": Operation(),
    "dense": Operation(compiled=True, in_bfloat16="rounded", of_many_rows=True),
    "log_loss": Operation(compiled=True, in_bfloat16="reference"),
    "character_cnn": Operation(compiled=True, in_bfloat16="exact"),
    "moves": Operation(compiled=True),
    "lookup": Operation(compiled=True),
    "distinct": Operation(compiled=True),
    "rows": Operation(compiled=True),
    "updates": Operation(compiled=True),
    "draws": Operation(compiled=True, fused=True),
    "dropout": Operation(compiled=True),
}

_watched: ContextVar[bool] = ContextVar("watched", default=False)


class Choice(NamedTuple):
    """The version of an operation that runs, and the reason why."""

    kernels: Kernels
    why: str


def choose(operation: str, like: Tensor | None = None, rows: int | None = None) -> Kernels:
    """Returns the version of an operation that runs on numbers like those of ``like``; None means arrays on the host.
    ``rows``: the number of rows of a product, if the operation depends on it.

    During an export the reference runs, since an exported program can contain only torch's operations. At other times,
    the preferred version is compiled on a CPU, fused on a GPU, and the reference elsewhere. The reference replaces the
    preferred version if

    1. the environment asks for it by ``SKIPSTACK_KERNELS=reference`` (for arrays on the host, also by ``=fused``);
    2. the operation has no such version;
    3. numba, or Triton, is missing, disabled or unable to run;
    4. layers are inspected (``watched``), and the operation hides their pre-activations;
    5. for the compiled version: the numbers are neither float32 nor float64;
    6. for the compiled version: there are few rows, and the operation is compiled ``of_many_rows``;
    7. for the compiled version: products are rounded to bfloat16, and ``in_bfloat16`` of the operation is "reference",
       or is "rounded" on a CPU that cannot multiply in bfloat16. (Products of few rows are not rounded.)

    Raises UserError if the environment asks for a version that does not exist, that cannot run in this process, or
    that is not for the device of ``like``.
    """
    if exporting():
        return "reference"
    few = rows is not None and are_few(rows)
    if like is None:
        return decided(operation, HOST, None, few).kernels
    return decided(
        operation, "cpu" if like.is_cpu else like.device.type, like.dtype, few, rounds(), _watched.get()
    ).kernels


@cache
def decided(
    name: str,
    device: str,
    dtype: torch.dtype | None,
    few: bool = False,
    rounded: bool = False,
    looked_into: bool = False,
) -> Choice:
    """Returns the result of ``choose`` with the reason, cached for each set of arguments.

    ``name``: the operation. ``few``: whether a product has few rows. ``rounded``: whether products are rounded to
    bfloat16. ``looked_into``: whether layers are inspected.
    """
    operation, asked, sought = OPERATIONS[name], override(), _sought(device)
    if asked == "reference":
        return Choice("reference", f"{VARIABLE}=reference")
    if asked not in (None, sought) and device != HOST:
        raise UserError(f"{VARIABLE}: got {asked}, but numbers are on {device} (allowed there: reference, {sought})")
    if asked == "fused" and device == HOST:
        return Choice("reference", f"{VARIABLE}=fused, and the host has no such thing")
    if sought == "reference":
        return Choice("reference", f"nothing is made for {device}")
    if looked_into and operation.hides:
        why: str | None = "somebody looks into layers"
    elif sought == "fused":
        why = _why_not_fused(operation, device)
    else:
        why = _why_not_compiled(operation, dtype, few, rounded)
    if why is not None:
        return Choice("reference", why)
    return Choice(sought, f"on {'the host' if device == HOST else device}")


def _why_not_fused(operation: Operation, device: str) -> str | None:
    if not operation.fused:
        return "there is no fused version"
    return None if device == SIMULATED else abilities.no_triton()


def _why_not_compiled(operation: Operation, dtype: torch.dtype | None, few: bool, rounded: bool) -> str | None:
    if not operation.compiled:
        return "there is no compiled version"
    if (why := abilities.no_compiler()) is not None:
        return why
    if dtype is not None and dtype not in TYPES:
        return f"nothing is compiled for {dtype}"
    if few:  # products of few rows are not rounded
        return "torch is as fast where rows are few" if operation.of_many_rows else None
    if rounded and operation.in_bfloat16 == "reference":
        return "its compiled version has no products in bfloat16"
    return abilities.no_bfloat16() if rounded and operation.in_bfloat16 == "rounded" else None


@cache
def override() -> Kernels | None:
    """Returns the version that the environment asks for, or None. The environment is read once.

    Raises UserError for an unknown name, and for a version that cannot run in this process.
    """
    asked = named()
    why = None
    if asked == "compiled":
        why = abilities.no_compiler()
    elif asked == "fused":
        why = abilities.no_triton()
    if why is not None:
        others = ", ".join(each for each in KERNELS if each != asked)
        raise UserError(f"{VARIABLE}: got {asked}, which cannot run here: {why} (allowed: {others})")
    return asked


@contextmanager
def watched() -> Iterator[None]:
    """Makes recurrent layers run step by step within the context, so that their states can be inspected."""
    token = _watched.set(True)
    try:
        yield
    finally:
        _watched.reset(token)


def is_watched() -> bool:
    """Returns whether the calling code runs within ``watched``."""
    return _watched.get()


def what_runs(device: torch.device, dtype: torch.dtype = torch.float32) -> dict[str, Choice]:
    """Returns the choice for each operation in training on ``device``, for unrounded products of many rows."""
    return {
        name: decided(name, HOST, None) if name == "distinct" else decided(name, device.type, dtype)
        for name in OPERATIONS
    }


def in_a_line(device: torch.device) -> str:
    """Describes the choices of ``what_runs``, such as ``compiled on this CPU (AVX2 and FMA, numba 0.68.1)``."""
    found, sought = what_runs(device), _sought(device.type)
    others = defaultdict[str, list[str]](list)
    for name, (kernels, why) in found.items():
        if kernels == "reference" and getattr(OPERATIONS[name], sought, False):
            others[why].append(name)
    if not any(each.kernels == sought != "reference" for each in found.values()):
        return f"torch's operations ({'; '.join(others) or f'nothing is made for {device.type}'})"
    told = "fused on this GPU" if sought == "fused" else f"compiled on this CPU ({abilities.compiler()})"
    return "; ".join([told, *(f"torch's operations for {', '.join(names)} ({why})" for why, names in others.items())])


def warn_if_unfused(device: torch.device) -> None:
    """Warns, once per process, if a GPU cannot run fused operations, unless the environment selects a version."""
    if _sought(device.type) == "fused" and device.type != SIMULATED and override() is None:
        why = abilities.no_triton()
        if why is not None:
            _warn_of_unfused(why)


@cache
def _warn_of_unfused(why: str) -> None:
    warnings.warn(f"on this GPU torch's operations run, several for each fused one: {why}", stacklevel=3)


def _sought(device: str) -> Kernels:
    return "fused" if device in GPUS else "compiled" if device in ("cpu", HOST) else "reference"
