"""The verdict of an ablation: on the best config that the search found (the first winner), and on each axis on which
this config differs from the base.

With several corpora, the verdict uses the means over them; if no row has such a mean, it uses the last corpus.
"""

from skipstack.search.analysis.ablation.labels import label
from skipstack.search.analysis.ablation.options import repeating
from skipstack.search.analysis.ablation.rows import changed
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.verdict.verdicts import Other, WinnerChange, WinnerTested
from skipstack.search.ledger.events import Role
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.short_names import names_by_path
from skipstack.spaces.side_effects import change_name
from skipstack.spaces.trial import CORPUS


def of_ablation(record: StudyRecord, found: Confirmation) -> WinnerTested:
    """Return the verdict of an ablation. ``record``: the ablation's own record; ``found``: its confirmed table."""
    planned = record.plan
    assert planned is not None, "an ablation begins with its rows"
    corpus = found.rows[-1].corpus
    rows = {(row.section, row.label): row for row in found.rows if row.corpus == corpus}

    def measured(role: Role) -> ConfirmedRow:
        named = label(record.space, planned, role)
        return rows.get((named.section, named.name), _unknown("not measured on every corpus"))

    row, first = next((row, each) for row in planned.rows for each in row.roles if each.kind == "winner")
    winner, point = _unknown("it is the base") if row.roles[0].kind == "base" else measured(first), row.point
    changes: dict[str, tuple[Role, ConfirmedRow]] = {}
    alone: dict[str, ConfirmedRow] = {}
    others: list[Other] = []
    for row in planned.rows:
        first_kind = row.roles[0].kind
        told = first_kind in ("base", "winner", "without")  # these rows are in other fields of the verdict
        for role in row.roles:
            own = role.winner == first.winner
            if role.kind == "beside" and row.roles[0] == role:
                others.append(Other(kind="search", row=measured(role)))
            if role.kind == "without_several" and own and not told:
                others.append(Other(kind="without", row=measured(role)))
            if role.kind == "without" and own and role.axis is not None:
                # Without its only change, the winner is the base.
                changes[role.axis] = role, winner if first_kind == "base" else measured(role)
            if role.kind == "alone" and own and first_kind in ("without", "alone") and role.axis is not None:
                alone[role.axis] = measured(role)
    short, differing = names_by_path(record.space.domains), changed(record.space, point)
    return WinnerTested(
        measure=found.measure,
        split=found.split,
        corpus=corpus if len({row.corpus for row in found.rows}) > 1 else "",
        winner=winner,
        changes=tuple(
            WinnerChange(
                axis=axis,
                short=short[axis],
                value=point[axis],
                called=change_name(record.space, axis, point[axis]),
                name=label(record.space, planned, role).name,
                row=row,
                alone=alone.get(axis),
            )
            for axis, (role, row) in changes.items()
        ),
        others=tuple(others),
        kept=tuple(short[axis] for axis in short if axis not in (*differing, CORPUS)) if changes else (),
        left_out={
            short[left.role.axis]: left.why
            for left in planned.left_out
            if left.role.kind == "without" and left.role.winner == first.winner and left.role.axis in short
        },
        seeds_to_show=found.seeds_to_show,
        repeated=repeating(planned),
    )


def _unknown(why: str) -> ConfirmedRow:
    return ConfirmedRow(label="", section="", is_reference=False, why=why)
