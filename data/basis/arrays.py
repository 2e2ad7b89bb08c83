"""Array types."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]
"""An array of integers of any width, such as row indices, positions or counts."""

Numbers = NDArray[np.number[Any]]
"""An array of integers or real numbers, such as counts and sums."""

Flags = NDArray[np.bool_]
