"""The last sentence of an ablation: which of the winner's changes earn their place, by its intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from skipstack.dashboards.reports.wording import listed, settings, size_of
from skipstack.data.tasks.measure import Measure
from skipstack.search.ablation.labels import label
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.ledger.event_values import Role
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.statistics.estimates import Estimate


def verdict_of(record: StudyRecord, found: Confirmation) -> str:
    """The verdict on the first winner of an ablation, on its corpus or on the mean of several.

    ``record``: the ablation's own; ``found``: its confirmed rows.
    """
    planned = record.plan
    assert planned is not None, "an ablation begins with its rows"
    corpus = found.rows[-1].corpus
    rows = {(row.section, row.label): row for row in found.rows if row.corpus == corpus}

    def measured(role: Role) -> ConfirmedRow:
        named = label(record.space, planned, role)
        return rows.get((named.section, named.name), _unknown("not measured on every corpus"))

    first, point = next((each, row.point) for row in planned.rows for each in row.roles if each.kind == "winner")
    winner = measured(first)
    changes: dict[str, ConfirmedRow] = {}
    beside: dict[str, ConfirmedRow] = {}
    for row in planned.rows:
        first_kind = row.roles[0].kind
        told = first_kind in ("base", "winner", "without")  # the rest of the sentence is about these
        for role in row.roles:
            if role.kind == "beside" and role.study is not None and row.roles[0] == role:
                beside[f"the best of {role.study}"] = measured(role)
            if role.kind == "without_several" and role.winner == first.winner and not told:
                beside[f"the winner without its changes of {role.axis}"] = measured(role)
            if role.kind == "without" and role.winner == first.winner and role.axis is not None:
                same = {"base": _reversed(winner), "without": measured(role)}
                changes[role.axis] = same.get(first_kind, _unknown("without it, it is another winner"))
    said = settings({axis: point[axis] for axis in changes})
    several = len({row.corpus for row in found.rows}) > 1
    without = dict(zip(said, changes.values(), strict=True))
    sentence = ablation_in_a_sentence(winner, without, record.measure, beside)
    return f"On {corpus}: {sentence[0].lower()}{sentence[1:]}" if several else sentence


def _unknown(why: str) -> ConfirmedRow:
    return ConfirmedRow(label="", section="", is_reference=False, why=why)


def _reversed(row: ConfirmedRow) -> ConfirmedRow:
    """The row with its difference reversed: the base measured from a winner that has a single change."""
    if row.difference is None:
        return row
    low, high = (None if bound is None else -bound for bound in (row.difference.high, row.difference.low))
    return replace(row, difference=replace(row.difference, value=-row.difference.value, low=low, high=high))


def ablation_in_a_sentence(
    winner: ConfirmedRow,
    without: Mapping[str, ConfirmedRow],
    measure: Measure,
    beside: Mapping[str, ConfirmedRow] | None = None,
) -> str:
    """Which of the winner's changes earn their place.

    ``winner``: its row, compared with the base. ``without``: by change, the row without it, compared with the winner.
    ``beside``: by name, the rows of other whole networks, compared with the winner. Together they are a family. A
    change earns its place if the row without it is significantly worse.
    """
    known = {
        change: row.difference for change, row in without.items() if row.difference is not None and row.p is not None
    }
    earned = [each for each in known if without[each].marked and known[each].value < 0]
    costly = [each for each in known if without[each].marked and known[each].value > 0]
    unclear = [each for each in known if each not in earned and each not in costly]
    said = [
        *_said(earned, "earns its place", "earn their place", known, measure),
        *_said(costly, "does harm", "do harm", known, measure),
        *_said(unclear, "shows no effect beyond chance", "show no effect beyond chance"),
        *(f"of {each} nothing is known ({_why(row)})" for each, row in without.items() if each not in known),
        *_against(winner, "the winner", "the base", measure),
        *(part for name, row in (beside or {}).items() for part in _against(row, name, "the winner", measure)),
    ]
    if not without:
        whole = "; ".join(said) or "of the winner nothing is known"
        return f"{whole[0].upper()}{whole[1:]}."
    opening = "The winner's one change" if len(without) == 1 else f"Of the winner's {len(without)} changes"
    return f"{opening}: {'; '.join(said)}."


def _said(
    which: Sequence[str],
    one: str,
    several: str,
    known: Mapping[str, Estimate] | None = None,
    measure: Measure | None = None,
) -> Iterator[str]:
    """``depth 5 (without it -6.21 ± 1.10 points) earns its place``; nothing without changes."""
    if which:
        shown = [
            each if known is None or measure is None else f"{each} (without it {with_half(known[each], measure)})"
            for each in which
        ]
        yield f"{listed(shown)} {one if len(which) == 1 else several}"


def _against(row: ConfirmedRow, name: str, other: str, measure: Measure) -> Iterator[str]:
    """The difference of a row to its reference, if it has an interval; the mark decides, as for changes."""
    if row.difference is not None and row.difference.half is not None:
        ahead = "ahead of" if row.difference.value > 0 else "behind"
        verdict = ahead if row.marked else "not shown to differ from"
        yield f"{name} is {verdict} {other}, {with_half(row.difference, measure)}"


def _why(row: ConfirmedRow) -> str:
    return row.why or (row.difference.why if row.difference is not None else "")


def with_half(difference: Estimate, measure: Measure) -> str:
    """``-6.21 ± 1.10 points``."""
    assert difference.half is not None
    unit = " points" if measure.in_points else ""
    return f"{measure.written(difference.value, '+')} ± {size_of(difference.half, measure)}{unit}"
