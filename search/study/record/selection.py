"""Selects the trials that are measured on the test split: the best of each value of each axis, and some more."""

from collections.abc import Iterator
from typing import Final

from skipstack.search.strategy.proposers.config import WALKS
from skipstack.search.study.record.domain_parts import parts
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord

FIXED_DESIGNS: Final = (*WALKS, "listed", "path")
"""The proposers whose points are fixed in advance: each trial is a row of a table by itself."""


def selected(record: StudyRecord) -> list[int]:
    """The numbers of the trials that are measured on test, all of which have a score.

    These are the base, the best trial, the best trial of each value of each axis, and those on the Pareto front. If all
    points were fixed in advance and all trials are trained to the end, each trial is a row of a table by itself, so all
    are measured. None are if trials leave no weights: a function reports its test score itself.
    """
    if not record.study.space.base.keeps_weights:
        return []
    search, ranked = record.study.search, record.ranked()
    if search.proposer.kind in FIXED_DESIGNS and search.stops_nothing:
        return sorted(trial.number for trial in ranked)
    chosen = [*ranked[:1], *_best_of_values(record, ranked), *record.front()]
    if record.base is not None and record.base.score is not None:
        chosen.append(record.base)
    return sorted({trial.number for trial in chosen})


def _best_of_values(record: StudyRecord, ranked: list[TrialRecord]) -> Iterator[TrialRecord]:
    """The first of ``ranked`` for each part of each axis; trials where an axis is inactive have no value on it."""
    for axis, domain in record.space.domains.items():
        active = [trial for trial in ranked if axis in trial.point]
        for part in parts(domain):
            yield from [trial for trial in active if part.holds(trial.point[axis])][:1]
