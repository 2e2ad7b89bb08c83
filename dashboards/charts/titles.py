"""Axis titles of charts, with units, and the sentences below charts."""

from typing import Any, Final

import altair as alt

from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure


def shown(measure: Measure) -> float:
    """The factor from a measured value to the shown one: 100 for accuracies, which are shown in percent."""
    return abs(measure.factor)


def value_scale(measure: Measure, **further: Any) -> alt.Scale:
    """The scale of its values, which need not begin at 0; a logarithmic one does not end at powers of ten."""
    if measure.scale == "log":
        return alt.Scale(type="log", nice=False, padding=10, **further)
    return alt.Scale(type=measure.scale, zero=False, nice=True, **further)


def value_title(measure: Measure, split: str = "dev") -> str:
    """``accuracy on dev (%)``, ``perplexity on dev (lower is better)``."""
    unit = "%" if measure.in_points else "lower is better" if measure.factor < 0 else ""
    return f"{measure.label} on {split}{f' ({unit})' if unit else ''}"


def difference_title(measure: Measure, what: str) -> str:
    """``effect on accuracy (points)``, ``difference in perplexity (lower is better)``."""
    unit = "points" if measure.in_points else "lower is better" if measure.factor < 0 else ""
    return f"{what} {measure.label}{f' ({unit})' if unit else ''}"


def not_drawn(count: int, noun: str, why: str) -> str:
    """``Not drawn: 1 trial without a score.``; empty if all are drawn."""
    return f"Not drawn: {counted(count, noun)} {why}." if count else ""


def some_of(drawn: int, there: int, what: str) -> str:
    """``150 of 10,000 trials are drawn.``; empty if all are drawn."""
    return f"{drawn:,} of {there:,} {what} are drawn." if drawn < there else ""


UNITS: Final = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


def time_unit(seconds: float) -> tuple[str, float]:
    """The unit in which people write times of this length, and how many seconds it has."""
    return next(((name, unit) for name, unit in UNITS if seconds >= 2 * unit), UNITS[-1])
