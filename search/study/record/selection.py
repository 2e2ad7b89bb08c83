"""Selects the trials that are measured on the test split, such as the best trial of the study."""

from collections.abc import Iterator
from typing import Final

from skipstack.search.strategy.proposers.config import WALKS
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.domain_parts import parts
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord

FIXED_DESIGNS: Final = (*WALKS, "listed", "path")
"""The kinds of proposers that try a planned set of points: an enumeration, a list, or a greedy path. Each of their
trials is of interest by itself.
"""


def is_designed(search: SearchConfig) -> bool:
    """Whether a search is a fixed design: its proposer is one of ``FIXED_DESIGNS``, and its scheduler stops nothing."""
    return search.stops_nothing and search.proposer.kind in FIXED_DESIGNS


def selected(record: StudyRecord) -> list[int]:
    """Return the numbers of the trials to measure on the test split, in ascending order. All of them have a score.

    These are the base, the best trial, the best trial for each part of each axis's domain (``domain_parts.py``), and
    the trials on the Pareto front. All trials of a fixed design are measured, since each is a row of a table. No trial
    that calls a function is measured, since the function reports its test score itself.
    """
    if not record.study.space.base.keeps_weights:
        return []
    ranked = record.ranked()
    if is_designed(record.study.search):
        return sorted(trial.number for trial in ranked)
    chosen = [*ranked[:1], *_best_of_values(record, ranked), *record.front()]
    if record.base is not None and record.base.score is not None:
        chosen.append(record.base)
    return sorted({trial.number for trial in chosen})


def _best_of_values(record: StudyRecord, ranked: list[TrialRecord]) -> Iterator[TrialRecord]:
    """Yield, for each part of each axis's domain, the first trial of ``ranked`` that has a value in that part."""
    for axis, domain in record.space.domains.items():
        active = [trial for trial in ranked if axis in trial.point]
        for part in parts(domain):
            yield from [trial for trial in active if part.holds(trial.point[axis])][:1]
