"""Says what the next hour of a running study is likely to bring, at its pace so far.

The best score is forecast only for proposers for which such forecasts are known to hold (``HELD``).
"""

from collections.abc import Iterator

from skipstack.dashboards.reports.wording import duration, size_of
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.exploration.budgets import HELD, LEAST, Continued
from skipstack.search.strategy.objectives.hours import HOUR


def next_hour(
    *,
    left: int,
    per_minute: float | None,
    seconds_left: float | None,
    continued: Continued | None,
    proposer: str,
    several: bool,
    raced: bool,
    measure: Measure,
) -> Iterator[str]:
    """Yield sentences about the next hour; none if no trial is left.

    ``left``: the number of trials that have not ended. ``per_minute``: the number of trials that end in a minute; None
    if not known. ``seconds_left``: the seconds until all trials have ended or the study's hours are over; None if not
    known. ``continued``: the forecast of the gain from more trials; None before there is one. ``proposer``: the name of
    the method that chooses trials. ``several``: whether the study has several objectives. ``raced``: whether its
    seeds race.
    """
    if not left:
        return
    if per_minute is None or seconds_left is None:
        yield (
            "No trial has ended yet since the study was last started, so nothing is known of its pace. "
            f"{left:,} are left."
        )
        return
    coming = min(left, round(60 * per_minute * min(seconds_left, HOUR) / HOUR))
    if coming >= left:
        yield (
            f"At the present pace {_the_last(left)} within about {duration(seconds_left)}; then the study measures on "
            "test the trials that its report shows."
        )
    elif seconds_left < HOUR:
        yield (
            f"The study's hours are over in {duration(seconds_left)}: until then about {counted(coming, 'trial')} of "
            f"{left:,} will end, at the present pace."
        )
    else:
        yield f"At the present pace about {counted(coming, 'trial')} of {left:,} will end within the hour."
    yield _best(coming, continued, proposer, several=several, raced=raced, measure=measure)


def _the_last(left: int) -> str:
    return "the last trial will end" if left == 1 else f"all {left:,} trials that are left will end"


def _best(
    coming: int, continued: Continued | None, proposer: str, *, several: bool, raced: bool, measure: Measure
) -> str:
    """The sentence on the best score after ``coming`` more trials: a bound on its mean gain, or why none is known."""
    if several:
        return "No forecast of the best score is made: the study has several objectives."
    if raced:
        return "No forecast of the best score is made: seeds race, so scores are means over different numbers of seeds."
    if proposer not in HELD:
        return (
            "No forecast of the best score is made: bounds are known to hold for trials drawn at random alone, not for "
            f"those of {proposer}."
        )
    if continued is None or continued.most is None or continued.held is None:
        return f"No forecast of the best score is made before {LEAST} trials have a score."
    if not coming:
        return "No forecast of the best score is made: hardly a trial will end."
    if coming > continued.trials:
        return (
            "No forecast of the best score is made: a bound is known for half as many more trials as have a score, "
            f"{continued.trials:,}, and for no more."
        )
    return (
        f"These improve the best {measure.label} by {size_of(continued.most, measure)}"
        f"{' points' if measure.in_points else ''} at most, on average: that is the bound for {continued.trials:,} "
        f"more trials drawn at random, and in {100 * continued.held:.0f} of 100 searches so many brought no more than "
        "such a bound."
    )
