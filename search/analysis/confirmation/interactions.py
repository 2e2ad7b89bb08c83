"""Interactions of two changes in a grid: the effect of both together beyond the sum of their single effects.

The base has the score b, the trials with one of the changes have x and y, and the trial with both changes has xy. The
interaction is (xy - y) - (x - b). It says how much more the first change gains if the second change is made as well. If
it is 0, the effects of the two changes add up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.confirmation.changes import base_of, values_of
from skipstack.search.analysis.confirmation.differences import Split, interaction
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.statistics.multiple_testing import holm
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.short_names import value_name
from skipstack.spaces.space import Point


@dataclass(frozen=True, slots=True)
class SingleChange:
    """A change of the base on one axis, to ``value``, and the trial that has this change only."""

    axis: str
    value: Json
    trial: TrialRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class Interaction:
    """The interaction of two changes of the base.

    ``axes``, ``values``: the axes of the two changes, and the names of the new values. ``trial``: the number of the
    trial with both changes. ``estimate``: the interaction. ``p``: its p value, corrected for all interactions of the
    study (Holm). ``marked``: whether ``p`` is below 5 %. ``corrected``: its interval, corrected like ``p``.
    """

    axes: tuple[str, str]
    values: tuple[str, str]
    trial: int
    estimate: Estimate
    p: float | None = None
    marked: bool = False
    corrected: tuple[float, float] | None = None


def interactions(record: StudyRecord, split: Split) -> tuple[Interaction, ...]:
    """Return the interactions of all pairs of changes that a confirmation by design tried alone and together.

    Only trials that were trained to their ends count. ``split``: the split of the scores.
    """
    found = list(_interactions(record, split))
    return tuple(
        replace(
            each,
            p=test.p,
            marked=test.marked,
            corrected=None if test.level is None else each.estimate.interval(test.level),
        )
        for each, test in zip(found, holm([each.estimate.p for each in found]), strict=True)
    )


def _interactions(record: StudyRecord, split: Split) -> Iterator[Interaction]:
    space, start = record.space, base_of(record.space)
    whole = {canonical_json(trial.point): trial for trial in record.trials.values() if trial.whole}
    base = whole.get(canonical_json(start))
    if base is None:
        return
    for one, other in combinations(_changes(record, start, whole), 2):
        point = space.moved(space.moved(start, one.axis, one.value), other.axis, other.value)
        both = whole.get(canonical_json(point))
        if one.axis == other.axis or both is None or any(point.get(each.axis) != each.value for each in (one, other)):
            continue
        found = interaction(both, one.trial, other.trial, base, split)
        if found is not None:
            names = value_name(space.domains[one.axis], one.value), value_name(space.domains[other.axis], other.value)
            yield Interaction(axes=(one.axis, other.axis), values=names, trial=both.number, estimate=found)


def _changes(record: StudyRecord, base: Point, whole: Mapping[str, TrialRecord]) -> Iterator[SingleChange]:
    for axis, usual in base.items():
        for value in values_of(record, axis):
            trial = whole.get(canonical_json(record.space.moved(base, axis, value)))
            if trial is not None and value != usual:
                yield SingleChange(axis, value, trial)
