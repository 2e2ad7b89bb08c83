"""How long it takes until something happens, where it may not happen at all."""

import math
from collections.abc import Sequence
from typing import Final

QUARTILES: Final = (0.25, 0.5, 0.75)


def quantile(waits: Sequence[float], share: float) -> float:
    """The quantile of some waits, of which those without an end are infinite; so is a quantile beyond all ends.

    Interpolated linearly between the sorted waits at index (n - 1) * ``share``. Between an end and none it is infinite:
    where the wait lies there is not known, only that it is longer than the end. Raises ValueError where there is none.
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
