"""Types of arrays that several rooms share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer[Any]]
"""Rows, places, counts: whole numbers of any width."""

Flags = NDArray[np.bool_]
