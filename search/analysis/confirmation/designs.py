"""The confirmed table of a study that is a confirmation by design: all its trials were fixed before training."""

from collections.abc import Iterator
from dataclasses import dataclass

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.changes import base_of, values_of
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, Reach, RowToConfirm, confirm, reach
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.interactions import Interaction, interactions
from skipstack.search.strategy.proposers.config import WALKS
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.short_names import value_name
from skipstack.spaces.side_effects import brought_along, with_effects

TENTH_OF_A_POINT = 0.001
"""A gain of 0.1 points, as a score. ``Reach.seeds`` is the number of seeds needed to detect it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """A confirmed table: the rows of a study that were fixed in advance.

    ``corpus``: the name of its corpus, the names of several corpora, or the name of the user's function.
    ``rows``: the rows of each corpus, the base first. If there are several corpora, the means over them follow.
    ``reach``: the power of the experiment; None if it is unknown.
    ``split``: the split on which rows are compared.
    ``about``: the question that the study asks.
    ``ablation``: the number of the ablation that the rows belong to; None if they belong to the study itself.
    ``interactions``: in a grid, the interactions of two changes that were tried alone and together.
    ``seeds_to_show``: for an ablation, the number of seeds with which 80 of 100 such ablations would show a gain as
    large as the winner's; None if ``power.MOST_SEEDS`` are too few, or if it is unknown.
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
    seeds_to_show: int | None = None

    @property
    def confirmed(self) -> bool:
        """Whether every row with a trial has several seeds; a single seed does not show how scores vary by chance."""
        return all(len(row.seeds) > 1 for row in self.rows if row.trial is not None)


def why_not_by_design(record: StudyRecord) -> str:
    """Return the reason why a study is not a confirmation by design; empty if it is one."""
    search = record.study.search
    if not search.stops_nothing:
        return f"{search.scheduler.kind} stops trials by their scores"
    if search.proposer.kind not in WALKS:
        return f"{search.proposer.kind} chose the trials"
    if record.warm_starts:
        return "the study learned from an earlier one"
    return ""


def by_design(record: StudyRecord, *, randomise: bool = False) -> Confirmation | None:
    """Return the confirmed table of a study that is a confirmation by design; None for any other study.

    A row is the base with another value on one axis, so that other axes do not confound the comparison. Other trials of
    a grid are not rows. All rows are one family. ``randomise``: as in ``confirm``.
    """
    if why_not_by_design(record):
        return None
    rows, split = list(_rows(record)), split_of(record)
    return Confirmation(
        study=record.study.title,
        corpus=record.study.space.base.title,
        measure=record.measure,
        rows=confirm(rows, split=split, randomise=randomise),
        reach=reach(rows, TENTH_OF_A_POINT) if record.measure.in_points else None,
        split=split,
        about=record.study.about,
        interactions=interactions(record, split),
    )


def split_of(record: StudyRecord) -> Split:
    """Return the split on which rows are compared: test, or dev for a function without test scores.

    The dev score of a function is the score that it reports.
    """
    reports_test = any(trial.test for trial in record.trials.values())
    return "test" if record.study.space.base.keeps_weights or reports_test else "dev"


def _rows(record: StudyRecord) -> Iterator[RowToConfirm]:
    space = record.space
    trials = {canonical_json(trial.point): trial for trial in record.trials.values()}
    base = base_of(space)
    reference = trials.get(canonical_json(base))
    yield RowToConfirm(label="base", trial=reference, is_reference=True)
    for axis, domain in space.domains.items():
        for value in values_of(record, axis):
            point = space.moved(base, axis, value)
            text = canonical_json(point)
            if axis in point and text != canonical_json(base) and space.allowed(point):
                effects = brought_along(space, space.config(point), space.config(base), axis)
                yield RowToConfirm(
                    label=with_effects(value_name(domain, value), effects),
                    over="base",
                    section=axis,
                    axis=axis,
                    trial=trials.get(text),
                    reference=reference,
                )
