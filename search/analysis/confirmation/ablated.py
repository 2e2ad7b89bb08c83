"""The confirmed table of an ablation: each row compared with its reference on each corpus, and the means over corpora.

A row measures what a winner or a change adds. Its reference is another row, usually one change away from it.
"""

from collections.abc import Sequence
from typing import get_args

from skipstack.search.analysis.ablation.comparisons import mean_of, own_roles
from skipstack.search.analysis.ablation.families import parts_of
from skipstack.search.analysis.ablation.labels import TAKEN_BACK, label, reference
from skipstack.search.analysis.ablation.trained import TrainedRow, trained_rows, trial_of
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm, reach
from skipstack.search.analysis.confirmation.designs import TENTH_OF_A_POINT, Confirmation, split_of
from skipstack.search.ledger.events import AblationPlanned, Role, RoleKind
from skipstack.search.statistics.estimates import Estimate, mean_over_corpora
from skipstack.search.statistics.multiple_testing import holm
from skipstack.search.statistics.sequential import shares
from skipstack.search.study.record.study_record import StudyRecord


def ablated(record: StudyRecord, *, randomise: bool = False) -> Confirmation:
    """Compute the confirmed table of an ablation.

    ``record``: the ablation's own record. ``randomise``: as in ``confirm``. The rows of each corpus are one family for
    the correction of p values, and the means over corpora are another.
    """
    asked, split = compared_rows(record), split_of(record)
    rows = confirm(asked, split=split, randomise=randomise)
    corpora = tuple(dict.fromkeys(row.corpus for row in asked))
    own = record.study.space.base.title
    winner = next((row.gain for row in rows if not row.section and not row.is_reference), None)
    return Confirmation(
        study=record.study.title,
        corpus=", ".join(filter(None, corpora)) or own,
        measure=record.measure,
        rows=(*rows, *(_means(rows, len(corpora), asked[0].share) if len(corpora) > 1 else ())),
        reach=reach(asked, TENTH_OF_A_POINT) if record.measure.in_points and not asked[0].looks else None,
        split=split,
        about=record.study.about,
        seeds_to_show=_seeds_to_show(asked, winner) if len(corpora) < 2 else None,
    )


def _seeds_to_show(asked: Sequence[RowToConfirm], winner: Estimate | None) -> int | None:
    """Return how many seeds it takes to show a gain as large as the winner's; None if ``power.MOST_SEEDS`` are too few,
    if the number is unknown, and for rows that get seeds until they are decided.
    """
    found = None if winner is None or asked[0].looks else reach(asked, abs(winner.value))
    return None if found is None else found.seeds


def compared_rows(record: StudyRecord) -> list[RowToConfirm]:
    """Return the rows of an ablation's confirmed table, in the order of the table."""
    assert record.plan is not None, "an ablation begins with its rows"
    trained = trained_rows(record)
    return [_row(record, record.plan, role, each, trained) for role, each in questions(trained)]


def questions(trained: Sequence[TrainedRow]) -> list[tuple[Role, TrainedRow]]:
    """Return all pairs of a row and one of its ``own_roles``, sorted by corpus, kind of role, winner and axis."""
    kinds = get_args(RoleKind)
    asked = [(role, each) for each in trained for role in own_roles(each.row)]
    asked.sort(key=lambda one: kinds.index(one[0].kind))  # within a kind, rows are in the order of the axes
    corpora, winners, axes = (
        list(dict.fromkeys(found))
        for found in zip(*((each.corpus, role.winner, role.axis) for role, each in asked), strict=True)
    )

    def place(one: tuple[Role, TrainedRow]) -> tuple[int, ...]:
        role, each = one
        kind, winner = kinds.index(role.kind), winners.index(role.winner)
        return corpora.index(each.corpus), kind, winner, axes.index(role.axis)

    return sorted(asked, key=place)


def _row(
    record: StudyRecord, planned: AblationPlanned, role: Role, row: TrainedRow, trained: Sequence[TrainedRow]
) -> RowToConfirm:
    """Return a row with its reference. ``trained``: all rows."""
    named, other = label(record.space, planned, role), trial_of(reference(planned, role), row.corpus, trained)
    taken_back = role.kind in TAKEN_BACK
    return RowToConfirm(
        label=named.name,
        over=named.over,
        taken_back=taken_back,
        section=named.section,
        axis=role.axis or "",
        corpus=row.corpus,
        family=row.corpus,
        trial=other if taken_back else row.trial,
        reference=row.trial if taken_back else other,
        is_reference=role.kind == "base",
        looks=planned.looks,
        spending=planned.spending or shares(planned.looks),
        share=1 / parts_of(planned.place) if planned.family else 1.0,
    )


def _means(rows: tuple[ConfirmedRow, ...], corpora: int, share: float) -> tuple[ConfirmedRow, ...]:
    """Average each row over ``corpora`` corpora. Rows without a gain on one of the corpora are left out. ``share``: as
    in ``RowToConfirm``.
    """
    of_rows: dict[tuple[str, str, str], list[ConfirmedRow]] = {}
    for row in rows:
        if row.gain is not None:
            of_rows.setdefault((row.section, row.axis, row.label), []).append(row)
    whole = {name: found for name, found in of_rows.items() if len(found) == corpora}
    means = [mean_over_corpora([row.gain for row in found if row.gain]) for found in whole.values()]
    # Rows of two winners that compare the same trials, in either order, count as one question.
    asked = [tuple(frozenset((row.trial, row.reference)) for row in found) for found in whole.values()]
    answers = [None if mean.p is None else min(1.0, mean.p / share) for mean in means]
    return tuple(
        ConfirmedRow(
            label=name,
            section=section,
            over=found[0].over,
            taken_back=found[0].taken_back,
            axis=axis,
            corpus=mean_of(corpora),
            is_reference=False,
            gain=mean,
            p=test.p,
            marked=test.marked,
            corrected=None if test.level is None else mean.interval(test.level * share),
        )
        for ((section, axis, name), found), mean, test in zip(whole.items(), means, holm(answers, asked), strict=True)
    )
