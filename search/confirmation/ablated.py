"""What an ablation confirms: its rows, each beside the row that it is one change away from, on each of its corpora."""

from typing import Final, get_args

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ablation.labels import label, reference
from skipstack.search.ablation.trained import TrainedRow, trained_rows
from skipstack.search.confirmation.confirmation import ConfirmedRow, Row, confirm, reach
from skipstack.search.confirmation.designs import TENTH_OF_A_POINT, Confirmation
from skipstack.search.ledger.events import Settled
from skipstack.search.ledger.roles import ListedRow, Role, RoleKind
from skipstack.search.statistics.corpora import mean_over_corpora
from skipstack.search.statistics.families import LEVEL, holm
from skipstack.search.study.records.study_record import StudyRecord

KINDS: Final = get_args(RoleKind)
"""Rows of one kind stand together, in this order."""


def ablated(record: StudyRecord, *, randomise: bool = False) -> Confirmation:
    """The table of an ablation, by its own record. The rows of each corpus are one family, and so are the means."""
    assert record.settled is not None, "an ablation begins with its rows"
    trained = trained_rows(record)
    settled = record.settled
    corpora = tuple(dict.fromkeys(each.corpus for each in trained))
    pairs = [(each, role) for each in trained for role in questions(settled, each.row)]
    pairs.sort(key=lambda pair: (corpora.index(pair[0].corpus), KINDS.index(pair[1].kind)))
    asked = [_row(record, settled, each, role, trained) for each, role in pairs]
    rows = confirm(asked, randomise=randomise)
    corpus = record.study.space.base.data.corpus
    own = corpus.name if corpus.kind == "named" else corpus.kind
    return Confirmation(
        study=record.study.name,
        corpus=", ".join(filter(None, corpora)) or own,
        measure=record.measure,
        rows=(*rows, *(_means(rows, len(corpora)) if len(corpora) > 1 else ())),
        reach=reach(asked, TENTH_OF_A_POINT) if record.measure.in_points else None,
    )


def questions(settled: Settled, row: ListedRow) -> list[Role]:
    """The roles of a row that ask for different differences. The base asks for none, whatever else it is."""
    if row.roles[0].kind == "base":
        return [row.roles[0]]
    by_reference: dict[str, Role] = {}
    for role in row.roles:
        compared = reference(settled, role)
        assert compared is not None, "only the base is measured from nothing"
        by_reference.setdefault(canonical_json(compared.point), role)
    return list(by_reference.values())


def _row(record: StudyRecord, settled: Settled, row: TrainedRow, role: Role, others: list[TrainedRow]) -> Row:
    named, compared = label(record.space, settled, role), reference(settled, role)
    beside = [
        other.trial
        for other in others
        if compared is not None
        and other.corpus == row.corpus
        and canonical_json(other.row.point) == canonical_json(compared.point)
    ]
    return Row(
        label=named.name,
        section=named.section,
        corpus=row.corpus,
        family=row.corpus,
        trial=row.trial,
        reference=beside[0] if beside else None,
        is_reference=compared is None,
    )


def _means(rows: tuple[ConfirmedRow, ...], corpora: int) -> tuple[ConfirmedRow, ...]:
    """The mean effect of each row that has a difference on every corpus, over the corpora."""
    of_rows: dict[tuple[str, str], list[ConfirmedRow]] = {}
    for row in rows:
        if row.difference is not None:
            of_rows.setdefault((row.section, row.label), []).append(row)
    whole = {name: found for name, found in of_rows.items() if len(found) == corpora}
    means = [mean_over_corpora([row.difference for row in found if row.difference]) for found in whole.values()]
    return tuple(
        ConfirmedRow(
            label=name,
            section=section,
            corpus=f"{corpora} corpora, the mean",
            is_reference=False,
            difference=mean,
            p=p,
            marked=p is not None and p < LEVEL,
        )
        for (section, name), mean, p in zip(whole, means, holm([mean.p for mean in means]), strict=True)
    )
