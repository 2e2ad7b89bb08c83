"""Tells a spread from the rounding of the numbers that it was computed from."""

from collections.abc import Sequence
from typing import Final

ROUNDING: Final = 1e-12
"""The share of a number up to which a spread around it is rounding.

Sums of a thousand numbers, each rounded to 2.2e-16 of itself, lie within a tenth of that. Scores are not known to so
many digits.
"""


def is_rounding(spread: float, scale: float) -> bool:
    """Whether a spread, computed from numbers of size ``scale``, is zero up to rounding."""
    return spread <= ROUNDING * scale


def alike(values: Sequence[float]) -> bool:
    """Whether at least two numbers are equal up to rounding; NaN is equal to nothing."""
    return len(values) > 1 and is_rounding(max(values) - min(values), max(map(abs, values)))
