"""Measured quantities for people: few digits, a unit that suits them, and a dash where there is no number."""

from skipstack.data.tasks.measure import Measure
from skipstack.spaces.subject import Scalar

NONE = "–"
"""Stands where there is no number."""


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


def heading_of(heading: str, measure: Measure) -> str:
    """A heading as it is printed: ``dev %`` where scores are accuracies, ``dev F1`` where they are F1."""
    return heading.replace("%", measure.unit)


def scored(score: Scalar, measure: Measure, sign: str = "") -> str:
    """A score, or a difference or deviation of scores, as it is printed: ``96.41``."""
    return measure.written(score, sign) if isinstance(score, float) else NONE


def size_of(deviation: Scalar, measure: Measure) -> str:
    """A deviation, or how large a difference is, as it is printed: without a sign."""
    return scored(deviation, measure).lstrip("-")


def with_error(mean: Scalar, error: Scalar, measure: Measure, sign: str = "") -> str:
    """``96.41 ± 0.12``; an undefined error takes the same room, so that means stand below means."""
    if not isinstance(mean, float):
        return NONE
    error_text = size_of(error, measure) if isinstance(error, float) else f"{NONE:4}"
    return f"{scored(mean, measure, sign)} ± {error_text}"


def reason_in_words(reason: str) -> str:
    """Why a trial ended, as people read it: ``out of memory``."""
    return reason.replace("_", " ")
