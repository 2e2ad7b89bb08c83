"""Which trials are measured on the test split: the best of each value of each axis, and some more."""

from collections.abc import Iterator
from typing import Final

from skipstack.search.proposers.config import WALKS
from skipstack.search.record.domain_parts import parts
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord

FIXED_DESIGNS: Final = (*WALKS, "listed", "path")
"""The proposers that settle beforehand what is tried: each trial is a row of a table by itself."""


def selected(record: StudyRecord) -> list[int]:
    """The trials worth measuring on test, by number.

    These are the base, the best of all, the best of each value of each axis, and those on the Pareto front; only trials
    that have a score. Where all that a study tries was settled before and is trained to its end, each trial is a row of
    a table by itself: all that have a score are measured. Where a trial leaves no weights, none is: what a function
    reports of test is measured already.
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
    """The first of ``ranked`` with each value; trials on which an axis is not active have no value there."""
    for axis, domain in record.space.domains.items():
        active = [trial for trial in ranked if axis in trial.point]
        for part in parts(domain):
            yield from [trial for trial in active if part.holds(trial.point[axis])][:1]
