"""The trends of scores along the numeric axes of a study whose trials were fixed in advance."""

from collections.abc import Iterator
from dataclasses import dataclass

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.confirmation.changes import base_of, values_of
from skipstack.search.analysis.confirmation.designs import split_of, why_not_by_design
from skipstack.search.analysis.confirmation.differences import Split, score_of
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.short_names import value_name

FEWEST = 3
"""The minimum number of values of an axis for a trend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """A point of a trend: the score of a trial that was trained to its end.

    ``number``: the trial's value on the trend's axis. ``line``: the name of its value on the axis ``Trend.lines``;
    empty if the trend has a single line.
    """

    number: float
    line: str
    score: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """The scores along a numeric axis. The other axes have the base's values, except for the axis ``lines``.

    ``axis``: the numeric axis. ``lines``: another axis, with a line of scores for each of its values; None if there is
    a single line. ``split``: the split of the scores. ``reached``: the scores.
    """

    axis: str
    lines: str | None
    split: Split
    reached: tuple[Reached, ...]


def trends_of(record: StudyRecord) -> tuple[Trend, ...]:
    """Return the trends of a study whose trials were fixed in advance; none for other studies.

    A grid has one trend, along the numeric axis with the most values. It has a line for each value of a second axis,
    which has the most values of all remaining axes. A study that changes one axis at a time has a trend along each
    numeric axis. A trend needs an axis with at least ``FEWEST`` values, and completely trained trials at two or more of
    them.
    """
    if why_not_by_design(record):
        return ()
    base, split = base_of(record.space), split_of(record)
    numbers = {axis: found for axis in base if len(found := _numbers(record, axis)) >= FEWEST}
    drawn: dict[str, str | None] = dict.fromkeys(numbers)
    if numbers and record.study.search.proposer.kind == "grid":
        axis = max(numbers, key=lambda path: len(numbers[path]))
        others = {path: len(values_of(record, path)) for path in base if path != axis}
        drawn = {axis: max(others, key=lambda path: others[path]) if others else None}
    made = (
        Trend(axis=axis, lines=lines, split=split, reached=tuple(_reached(record, axis, numbers[axis], lines, split)))
        for axis, lines in drawn.items()
    )
    return tuple(each for each in made if len({score.number for score in each.reached}) > 1)


def _reached(
    record: StudyRecord, axis: str, numbers: tuple[int | float, ...], lines: str | None, split: Split
) -> Iterator[Reached]:
    space, base = record.space, base_of(record.space)
    trials = {canonical_json(trial.point): trial for trial in record.trials.values()}
    for value in values_of(record, lines) if lines else (None,):
        start = space.moved(base, lines, value) if lines else base
        for number in numbers:
            trial = trials.get(canonical_json(space.moved(start, axis, number)))
            score = score_of(trial, split) if trial is not None and trial.whole else None
            if score is not None:
                name = value_name(space.domains[lines], value) if lines else ""
                yield Reached(number=float(number), line=name, score=score)


def _numbers(record: StudyRecord, axis: str) -> tuple[int | float, ...]:
    """Return the values of an axis in ascending order if all of them are numbers; otherwise an empty tuple."""
    values = values_of(record, axis)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return tuple(sorted(numbers)) if len(numbers) == len(values) else ()
