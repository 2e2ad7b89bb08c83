"""Arrays from addresses in memory: passing twenty arrays to a call takes longer than its computation.

The caller keeps the arrays, which must be contiguous, alive until the call is over.
"""

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from skipstack.models.kernels.compiled.rowwise import Array
from skipstack.models.kernels.compiling import inlined


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing: Any, address: Any) -> Any:
    """The pointer to an address, from which numba reads."""

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), build


@inlined
def numbers_at(address: int, first: int, count: int, like: Array) -> Array:
    """An array of ``count`` numbers of the type of ``like``: those at an address, from number ``first`` on."""
    numbers: Array = carray(pointer(np.int64(address + first * like.itemsize)), count, like.dtype)
    return numbers
