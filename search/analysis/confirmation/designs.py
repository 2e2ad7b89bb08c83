"""Studies that are confirmations by design: all their trials were fixed before anything was measured."""

from collections.abc import Iterator
from dataclasses import dataclass

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.changes import base_of, name_of, values_of
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, Reach, RowToConfirm, confirm, reach
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.interactions import Interaction, interactions
from skipstack.search.strategy.proposers.config import WALKS
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Domain, Json

TENTH_OF_A_POINT = 0.001
"""A difference of 0.1 points, as a score, for which ``Reach.seeds`` are computed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """The rows of a study that were fixed in advance, the base first.

    ``corpus``: the name of its corpus, the names of several, or the function; ``about``: what the study asks;
    ``split``: on which they are compared; ``ablation``: the number of the ablation that they are of, if any;
    ``interactions``: in a grid, of two changes that it tried alone and together.
    """

    study: str
    corpus: str
    measure: Measure
    rows: tuple[ConfirmedRow, ...]
    reach: Reach | None
    split: Split = "test"
    about: str = ""
    ablation: int | None = None
    interactions: tuple[Interaction, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether every trained row has several seeds: one does not show how much scores vary by chance."""
        return all(len(row.seeds) > 1 for row in self.rows if row.trial is not None)


def why_not_by_design(record: StudyRecord) -> str:
    """The reason why the trials of a study are no confirmation; empty if they are one."""
    search = record.study.search
    if not search.stops_nothing:
        return f"{search.scheduler.kind} stops trials by their scores"
    if search.proposer.kind not in WALKS:
        return f"{search.proposer.kind} chose the trials"
    if record.warm_starts:
        return "the study learned from an earlier one"
    return ""


def by_design(record: StudyRecord, *, randomise: bool = False) -> Confirmation | None:
    """The table of a study that is a confirmation by design; None for any other.

    A row is the base with one other value, so that other axes do not confound it: in a grid, the trials that differ
    from the base on one axis. The rows are one family.
    """
    if why_not_by_design(record):
        return None
    rows, split = list(_rows(record)), split_of(record)
    return Confirmation(
        study=record.study.name,
        corpus=record.study.space.base.title,
        measure=record.measure,
        rows=confirm(rows, split=split, randomise=randomise),
        reach=reach(rows, TENTH_OF_A_POINT) if record.measure.in_points else None,
        split=split,
        about=record.study.about,
        interactions=interactions(record, split),
    )


def split_of(record: StudyRecord) -> Split:
    """The split on which rows are compared: test, or dev (the score itself) if a function reports no test score."""
    reports_test = any(trial.test for trial in record.trials.values())
    return "test" if record.study.space.base.keeps_weights or reports_test else "dev"


def _rows(record: StudyRecord) -> Iterator[RowToConfirm]:
    space = record.space
    trials = {canonical_json(trial.point): trial for trial in record.trials.values()}
    base = base_of(space)
    reference = trials.get(canonical_json(base))
    yield RowToConfirm(label="base", trial=reference, is_reference=True)
    for axis, domain in space.domains.items():
        for value in values_of(domain):
            point = space.moved(base, axis, value)
            text = canonical_json(point)
            if axis in point and text != canonical_json(base) and space.allowed(point):
                yield _row(axis, domain, value, trials.get(text), reference)


def _row(
    axis: str, domain: Domain, value: Json, trial: TrialRecord | None, reference: TrialRecord | None
) -> RowToConfirm:
    return RowToConfirm(label=name_of(domain, value), section=axis, axis=axis, trial=trial, reference=reference)
