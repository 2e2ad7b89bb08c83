"""The base of a study as a point (a value for each axis), and the values of each axis in order."""

from collections.abc import Sequence

from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Choice, Json, is_number
from skipstack.spaces.space import Point, Space


def base_of(space: Space) -> Point:
    """Return the base as a point. An axis gets its default (``Space.usual``) if its domain lacks the base's value.

    The proposer ``one_at_a_time`` starts from the same point.
    """
    return space.completed({})


def values_of(record: StudyRecord, axis: str) -> Sequence[Json]:
    """Return the values of an axis, in order. For a choice, these are all values; for a range with a step, the numbers
    that were tried, since there may be billions of others. A continuous axis has none.
    """
    domain = record.space.domains[axis]
    if isinstance(domain, Choice):
        return domain.values
    tried = [trial.point.get(axis) for trial in record.trials.values()] if domain.finite else []
    return sorted({value for value in tried if is_number(value)})
