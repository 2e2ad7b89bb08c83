"""Distinguishes a real spread of numbers from rounding error."""

import math
from collections.abc import Sequence
from typing import Final

ROUNDING: Final = 1e-12
"""A spread of numbers counts as rounding if it is at most this share of their size.

Rounding changes the sum of a thousand numbers by less than a quarter of this share (each by at most 2.2e-16). A spread
of scores this small is not real, since scores are not known to so many digits.
"""


def is_rounding(spread: float, scale: float) -> bool:
    """Whether a spread, computed from numbers of size ``scale``, is zero up to rounding."""
    return spread <= ROUNDING * scale


def alike(values: Sequence[float]) -> bool:
    """Whether all ``values`` are finite and equal up to rounding; False for fewer than two values."""
    finite = len(values) > 1 and all(map(math.isfinite, values))
    return finite and is_rounding(max(values) - min(values), max(map(abs, values)))
