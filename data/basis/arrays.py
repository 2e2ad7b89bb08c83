"""Array types, and a check of the numbers in an array."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]
"""An array of integers of any width, such as row indices, positions or counts."""

Numbers = NDArray[np.number[Any]]
"""An array of integers or real numbers, such as counts and sums."""

Flags = NDArray[np.bool_]

_BLOCK: Final = 2**12
"""The number of rows that are checked at once, so that little memory is needed."""


def first_not_finite(rows_NE: Numbers) -> tuple[int, int] | None:
    """Return the row and the column of the first number that is NaN or infinite; None if there is none."""
    for start in range(0, len(rows_NE), _BLOCK):
        wrong = np.argwhere(~np.isfinite(rows_NE[start : start + _BLOCK]))
        if len(wrong):
            return start + int(wrong[0][0]), int(wrong[0][1])
    return None
