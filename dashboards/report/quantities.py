"""Measured quantities for people: few digits, and a unit that suits them."""

from skipstack.dashboards.report.ablation_report import NONE


def number(value: float | None, factor: float = 1) -> str:
    """The value times ``factor`` in three digits, and in more where more stand before the point."""
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
