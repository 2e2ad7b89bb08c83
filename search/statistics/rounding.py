"""Tells a real spread of numbers from one that is only rounding."""

from collections.abc import Sequence
from typing import Final

ROUNDING: Final = 1e-12
"""A spread counts as rounding if it is at most this share of the numbers.

Sums of a thousand numbers, each rounded to 2.2e-16 of itself, deviate by less than a tenth of this share. Scores are
not known to so many digits.
"""


def is_rounding(spread: float, scale: float) -> bool:
    """Whether a spread, computed from numbers of size ``scale``, is zero up to rounding."""
    return spread <= ROUNDING * scale


def alike(values: Sequence[float]) -> bool:
    """Whether all of ``values`` are equal up to rounding; False for fewer than two values. NaN is equal to nothing."""
    return len(values) > 1 and is_rounding(max(values) - min(values), max(map(abs, values)))
