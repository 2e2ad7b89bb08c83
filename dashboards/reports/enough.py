"""Why a study starts no further trial, in a sentence."""

from skipstack.dashboards.reports.quantities import duration, size_of
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.ledger.event_values import Gain


def enough_in_words(gain: Gain, measure: Measure) -> str:
    """What more trials would bring, against how much seeds deviate."""
    most, deviation = (size_of(value, measure) for value in (gain.most, gain.seed_deviation))
    more = f"{counted(gain.trials, 'more trial')}, in about {duration(gain.hours, 3600)}"
    return (
        f"No further trial was started: {more}, would raise the best {measure.label} by {most} at most, on average; "
        f"seeds of one config deviate by {deviation}."
    )
