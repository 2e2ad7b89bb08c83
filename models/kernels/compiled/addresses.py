"""Arrays from addresses in memory: a call with twenty arrays takes longer than what it computes.

Whoever passes addresses holds the arrays, whose numbers stand one after another, until the call is over.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from skipstack.models.kernels.compiled.rowwise import Array
from skipstack.models.kernels.compiling import inlined


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, address: Any) -> Any:
    """An address as what numba reads from."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), build


@inlined
def numbers_at(address: int, first: int, count: int, like: Array) -> Array:
    """So many numbers of the type of ``like``, from the ``first`` of those that begin at an address."""
    numbers: Array = carray(pointer(np.int64(address + first * like.itemsize)), count, like.dtype)
    return numbers
