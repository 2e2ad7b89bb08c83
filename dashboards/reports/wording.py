"""Numbers, settings and short sentences as every report writes them."""


from skipstack.data.basis.counted import counted
from skipstack.search.schedulers.config import Resource

NONE = "–"
"""Printed in place of a missing number."""

NAMED_TRIALS = 8
"""A sentence names so many trials, at most."""


def number(value: float | None, factor: float = 1) -> str:
    """``value * factor`` in three digits, or more if there are more before the point."""
    if value is None:
        return NONE
    value *= factor
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def duration(value: float | None, factor: float = 1) -> str:
    """``value * factor`` seconds, as seconds, minutes or hours."""
    if value is None:
        return NONE
    seconds = value * factor
    if seconds < 90:
        return f"{number(seconds)} s"
    return f"{number(seconds, 1 / 60)} min" if seconds < 90 * 60 else f"{number(seconds, 1 / 3600)} h"


def counted_rung(rung: int, resource: Resource) -> str:
    """A rung in its resource: ``1 epoch``, ``9 seconds``."""
    return counted(rung, resource.removesuffix("s"))
