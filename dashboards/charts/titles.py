"""What stands at the axes of pictures: measured values in the unit in which people see them, times, and counts."""

from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure


def shown(measure: Measure) -> float:
    """What a value of the measure, in its own unit, is multiplied with: accuracies are shown in percent."""
    return abs(measure.factor)


def value_title(measure: Measure, split: str = "dev") -> str:
    """``accuracy on dev (%)``, ``perplexity on dev (lower is better)``."""
    unit = "%" if measure.in_points else "lower is better" if measure.factor < 0 else ""
    return f"{measure.label} on {split}{f' ({unit})' if unit else ''}"


def difference_title(measure: Measure, what: str) -> str:
    """``effect on accuracy (points)``, ``difference in perplexity (lower is better)``."""
    unit = "points" if measure.in_points else "lower is better" if measure.factor < 0 else ""
    return f"{what} {measure.label}{f' ({unit})' if unit else ''}"


def not_drawn(count: int, noun: str, why: str) -> str:
    """A sentence where some are not drawn, else nothing: ``Not drawn: 1 trial without a score.``"""
    return f"Not drawn: {counted(count, noun)} {why}." if count else ""


def some_of(drawn: int, there: int, what: str) -> str:
    """A sentence where not all are drawn, else nothing: ``150 of 10,000 trials are drawn``."""
    return f"{drawn:,} of {there:,} {what} are drawn." if drawn < there else ""
