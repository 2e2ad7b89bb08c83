"""Quantiles of waiting times that may be infinite, since the event may never happen."""

import math
from collections.abc import Sequence
from typing import Final

QUARTILES: Final = (0.25, 0.5, 0.75)


def quantile(waits: Sequence[float], share: float) -> float:
    """Return the quantile at ``share`` (from 0 to 1) of waiting times, some of which may be infinite.

    The n sorted waits are interpolated linearly at index (n - 1) * ``share``. If this index lies between a finite and
    an infinite wait, the quantile is infinite: it is only known to exceed the finite wait. Raises ValueError if
    ``waits`` is empty.
    """
    if not waits:
        raise ValueError("got no waits (allowed: one or more)")
    ordered = sorted(waits)
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    rest = place - below
    if rest == 0:
        return ordered[below]
    low, high = ordered[below : below + 2]
    return high if low == high or math.isinf(high) else low + (high - low) * rest
