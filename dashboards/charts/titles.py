"""Creates the titles of axes, with units, and the sentences that stand below a chart's title."""

from collections.abc import Iterable
from math import ceil, isfinite, log10
from typing import Any, Final

import altair as alt

from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure


def shown(measure: Measure) -> float:
    """The factor that converts values for display: 100 for accuracies, which are shown in percent."""
    return abs(measure.factor)


def value_scale(measure: Measure, **further: Any) -> alt.Scale:
    """The scale of an axis with values of a measure. The axis need not include 0. A linear axis is extended to round
    numbers. ``further``: more options of the scale.
    """
    if measure.scale == "log":
        return alt.Scale(type="log", nice=False, padding=10, **further)
    return alt.Scale(type=measure.scale, zero=False, nice=True, **further)


def value_title(measure: Measure, split: str = "dev") -> str:
    """The title of an axis of scores, such as ``accuracy on dev (%)`` or ``perplexity on dev (lower is better)``."""
    unit = "%" if measure.in_points else "lower is better" if measure.factor < 0 else ""
    return f"{measure.label} on {split}{f' ({unit})' if unit else ''}"


def difference_title(measure: Measure, what: str) -> str:
    """The title of an axis of differences, such as ``effect on accuracy (points)`` or ``effect on perplexity (lower is
    better)``. ``what``: the beginning of the title, such as ``effect on``.
    """
    unit = "points" if measure.in_points else "lower is better" if measure.factor < 0 else ""
    return f"{what} {measure.label}{f' ({unit})' if unit else ''}"


def gain_title(measure: Measure, split: str = "") -> str:
    """The title of an axis of gains, such as ``gain in accuracy (points; + helps)``. A gain is positive where the
    change helps, also for perplexities. ``split``: the split of the scores; empty leaves it out.
    """
    unit = "points; + helps" if measure.in_points else "+ helps, and lowers it" if measure.factor < 0 else "+ helps"
    return f"gain in {measure.label}{f' on {split}' if split else ''} ({unit})"


def decimals(numbers: Iterable[float]) -> int:
    """The number of decimals, from 2 to 6, that shows how numbers differ: enough for two digits of their range."""
    known = [number for number in numbers if isfinite(number)]
    spread = max(known) - min(known) if known else 0.0
    return min(max(2, 1 - ceil(log10(spread)) + 1), 6) if spread else 2


def signed_text(difference: float, measure: Measure) -> str:
    """A displayed difference as text, such as ``+1.20 points``."""
    return f"{difference:+.{decimals([0.0, difference])}f}{' points' if measure.in_points else ''}"


def not_drawn(count: int, noun: str, why: str) -> str:
    """Say what a chart leaves out, such as ``Not drawn: 1 trial without a score.`` Returns an empty text if ``count``
    is 0. ``noun``: such as ``trial``. ``why``: such as ``without a score``.
    """
    return f"Not drawn: {counted(count, noun)} {why}." if count else ""


def some_of(drawn: int, there: int, what: str) -> str:
    """Say how much a chart shows, such as ``150 of 10,000 trials are drawn.`` Returns an empty text if everything is
    drawn. ``there``: the total number. ``what``: such as ``trials``.
    """
    return f"{drawn:,} of {there:,} {what} are drawn." if drawn < there else ""


UNITS: Final = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
"""The units of time with their lengths in seconds."""


def time_unit(seconds: float) -> tuple[str, float]:
    """The largest unit of time that fits at least twice into ``seconds``, and its length; by default, seconds."""
    return next(((name, unit) for name, unit in UNITS if seconds >= 2 * unit), UNITS[-1])
