"""Counts a program's work on a device: operations, bytes moved, copies, waits."""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

LAUNCHES_NOTHING = frozenset(
    f"aten::{name}"
    for name in (
        "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "lift_fresh", "set_"
    )
)  # fmt: skip
"""Operations that only allocate memory or return a view."""

COPIES_FIRST = frozenset({"aten::baddbmm"})
"""Operations with two launches: one copies a tensor to the memory of the result, one adds a product."""

READS_ROWS = frozenset(f"aten::{name}" for name in ("embedding", "gather", "index", "index_select"))
"""Operations that read only a part of their first tensor. This part is as large as the result."""

WRITES_PLACES = frozenset(f"aten::{name}" for name in ("index_put_", "_index_put_impl_"))
"""Operations that write at the indices in their second argument. If the indices are a boolean mask, the
host waits for the number of selected elements."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The device usage of a torch operation.

    ``launches``: the number of launches, from 0 to 2 (``COPIES_FIRST``). ``reads_rows``: whether the operation is in
    ``READS_ROWS``. ``writes_places``: whether the operation is in ``WRITES_PLACES``. ``into``: the position and name of
    the argument that the operation writes and returns; None if the operation returns another tensor.
    """

    launches: int
    reads_rows: bool
    writes_places: bool
    into: tuple[int, str] | None


@functools.cache
def operation(func: Any) -> Operation:
    """Return the device usage of a torch operation, derived from its schema; views of arguments launch nothing."""
    schema = func._schema
    views = [each.alias_info is not None and not each.alias_info.is_write for each in schema.returns]
    nothing = schema.name in LAUNCHES_NOTHING or (bool(views) and all(views))
    written = [
        (place, each.name)
        for place, each in enumerate(schema.arguments)
        if each.alias_info is not None and each.alias_info.is_write
    ]
    alone = len(written) == len(schema.returns) == 1
    return Operation(
        launches=0 if nothing else 2 if schema.name in COPIES_FIRST else 1,
        reads_rows=schema.name in READS_ROWS,
        writes_places=schema.name in WRITES_PLACES,
        into=written[0] if alone else None,
    )


@dataclass(slots=True)
class Work:
    """Counts the work of a program on a device.

    ``launches``: the sum of ``Operation.launches``; most operations count as one launch, even if they run several
    kernels. ``moved``: bytes of the operations' arguments and results. ``sent``: bytes copied from the host.
    ``returned``: bytes copied to the host. ``waits``: copies that the host waits for.
    """

    launches: int = 0
    moved: int = 0
    sent: int = 0
    returned: int = 0
    waits: int = 0

    def add(self, what: Operation, read: Sequence[Tensor], made: Any) -> None:
        """Count an operation, unless it launches nothing. ``what``: the description of the operation. ``read``: the
        tensors among its arguments. ``made``: the results. An argument that is written in place counts as an argument
        and as a result.
        """
        if not what.launches:
            return
        results = made if isinstance(made, list | tuple) else [made]
        written = _bytes(each for each in results if isinstance(each, Tensor))
        first, others = (written, read[1:]) if what.reads_rows else (0, read)
        self.launches += what.launches
        self.moved += written + first + _bytes(others)

    def copy_there(self, source: Tensor, *, waits: bool) -> None:
        """Count a copy of ``source`` from the host. ``waits``: whether the host waits for the copy."""
        self.sent += source.nbytes
        self.waits += waits

    def copy_back(self, source: Tensor) -> None:
        """Count a copy of ``source`` to the host, and a wait."""
        self.returned += source.nbytes
        self.waits += 1

    def __sub__(self, before: "Work") -> "Work":
        """Return the work since ``before``, an earlier count."""
        return Work(*(getattr(self, each.name) - getattr(before, each.name) for each in fields(Work)))


def _bytes(tensors: Iterable[Tensor]) -> int:
    """Return the memory of tensors in bytes. Axes along which data are only repeated (stride 0) count as length 1."""
    return sum(
        each.itemsize * math.prod(size for size, step in zip(each.shape, each.stride(), strict=True) if step)
        for each in tensors
    )
