"""Writes numbers, settings and short sentences in the same way for all reports."""

from collections.abc import Mapping, Sequence

from skipstack.data.basis.counted import counted, listed
from skipstack.data.tasks.measure import Measure
from skipstack.search.ledger.events import Gain, HoursOver
from skipstack.search.strategy.schedulers.config import Resource
from skipstack.spaces.subject import Scalar

NONE = "–"
"""Printed in place of a missing number."""

NAMED_TRIALS = 8
"""The maximum number of trials that a sentence names by number."""


def number(value: float | None, factor: float = 1) -> str:
    """``value * factor`` as text with three digits, or more if more are before the point. None is printed as –."""
    if value is None:
        return NONE
    value *= factor
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def duration(value: float | None, factor: float = 1) -> str:
    """``value * factor`` seconds as text, in seconds, minutes or hours. None is printed as –."""
    if value is None:
        return NONE
    seconds = value * factor
    if seconds < 90:
        return f"{number(seconds)} s"
    return f"{number(seconds, 1 / 60)} min" if seconds < 90 * 60 else f"{number(seconds, 1 / 3600)} h"


def counted_rung(rung: int, resource: Resource) -> str:
    """A rung with its unit, such as ``1 epoch`` or ``9 seconds``."""
    return counted(rung, resource.removesuffix("s"))


def ago(seconds: float) -> str:
    """The time since an event, in words, such as ``just now``, ``3 min ago`` or ``12 days ago``."""
    if seconds < 1:
        return "just now"
    days = seconds / 86400
    return f"{duration(seconds) if days < 2 else counted(round(days), 'day')} ago"


def heading_of(heading: str, measure: Measure) -> str:
    """A printed heading with the measure's unit instead of %, such as ``dev F1`` for ``dev %``."""
    return heading.replace("%", measure.unit)


def scored(score: Scalar, measure: Measure, sign: str = "") -> str:
    """A score, difference or deviation as text, such as ``96.41``; – if missing. ``sign``: "+" to show plus signs."""
    return measure.written(score, sign) if isinstance(score, float) else NONE


def size_of(deviation: Scalar, measure: Measure) -> str:
    """A deviation or a difference as text, without its sign. A missing value is printed as –."""
    return scored(deviation, measure).lstrip("-")


def with_error(mean: Scalar, error: Scalar, measure: Measure) -> str:
    """A mean with its error as text, such as ``96.41 ± 0.12``. A missing error is printed as –, padded so that means
    stay aligned. If the mean is missing, the text is –.
    """
    return f"{scored(mean, measure)} ± {_error(error, measure)}" if isinstance(mean, float) else NONE


def gained(gain: Scalar, half: Scalar, measure: Measure) -> str:
    """A gain with half its interval as text, such as ``+1.20 ± 0.31``: positive where the change helps, also for
    perplexities. Missing numbers are printed as in ``with_error``.
    """
    return f"{measure.gained(gain)} ± {_error(half, measure)}" if isinstance(gain, float) else NONE


def _error(error: Scalar, measure: Measure) -> str:
    return size_of(error, measure) if isinstance(error, float) else f"{NONE:4}"


def reason_in_words(reason: str) -> str:
    """The reason why a trial ended, in words: ``out of memory`` for ``out_of_memory``."""
    return reason.replace("_", " ")


def sentence(text: str) -> str:
    """A user's text with a full stop, unless it is empty or ends in a punctuation mark."""
    return text if not text or text[-1] in ".?!…" else f"{text}."


def hours_over_in_words(over: HoursOver, cut: Mapping[str, Sequence[int]]) -> str:
    """The sentences that say that a study's hours were over before all its trials had ended.

    ``cut``: the numbers of the trials that this limit cut short, by how they ended.
    """
    hours = f"{over.hours:g} hour was" if over.hours == 1 else f"{over.hours:g} hours were"
    left = f", and {counted(over.left_out, 'trial')} of those asked for had not started" if over.left_out else ""
    ends = sentence("; ".join(f"{_trials(trials)}: {how}" for how, trials in cut.items()))
    return f"The study's {hours} over{left}. {ends[:1].upper()}{ends[1:]}".rstrip()


def _trials(numbers: Sequence[int]) -> str:
    """The numbers of trials in words, such as ``trials 3, 5 and 8``. More than ``NAMED_TRIALS`` are only counted."""
    if len(numbers) > NAMED_TRIALS:
        return counted(len(numbers), "trial")
    return f"{'trial' if len(numbers) == 1 else 'trials'} {listed([str(number) for number in numbers])}"


def enough_in_words(gain: Gain, measure: Measure) -> str:
    """The sentence on why a study starts no further trial: the expected gain, and the deviation between seeds."""
    most, deviation = (size_of(value, measure) for value in (gain.most, gain.seed_deviation))
    more = f"{counted(gain.trials, 'more trial')}, in about {duration(gain.hours, 3600)}"
    return (
        f"No further trial was started: {more}, would improve the best {measure.label} by {most} at most, on average, "
        f"if points were drawn at random; seeds of one config deviate by {deviation}."
    )
