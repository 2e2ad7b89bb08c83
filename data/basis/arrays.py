"""Array types."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]
"""Integers of any width: rows, places, counts."""

Numbers = NDArray[np.number[Any]]
"""Counts and sums, whole or not."""

Flags = NDArray[np.bool_]
