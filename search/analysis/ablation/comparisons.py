"""The comparisons of an ablation: each row paired with each of its references, in words, and means over corpora.

A row is a config that the ablation trains. Its roles are the reasons for it, such as ``base``, ``winner`` or
``without`` (a winner with a change taken back). Each role has a reference: the row that it is compared with.
"""

from dataclasses import dataclass

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.labels import reference, reference_name, row_name
from skipstack.search.analysis.ablation.rows import changed
from skipstack.search.analysis.ablation.trained import trained_rows
from skipstack.search.ledger.events import ListedRow, Role
from skipstack.search.study.record.domain_parts import short_name
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.short_names import names_by_path
from skipstack.spaces.space import Point
from skipstack.spaces.trial import CORPUS


def own_roles(row: ListedRow) -> tuple[Role, ...]:
    """Return the roles of a row that are compared.

    If the row is the base or a winner, that is its first role only: otherwise a winner with a single change would be
    compared twice, since without the change it is the base, and the base with the change is the winner.
    """
    first = row.roles[0]
    return tuple(role for role in row.roles if role == first or first.kind not in ("base", "winner"))


@dataclass(frozen=True, slots=True)
class RowComparison:
    """The comparison of a row with one reference, on one corpus or as a mean over several corpora.

    ``row``, ``reference``: both in words; ``reference`` is empty for the base, which has none.
    ``corpus``: the corpus in words, or the text of ``mean_of``.
    ``trials``, ``references``: the trials of the row and of the reference, one for each corpus, in the same order.
    """

    row: str
    reference: str
    corpus: str
    trials: tuple[TrialRecord, ...]
    references: tuple[TrialRecord, ...] = ()

    @property
    def numbers(self) -> tuple[tuple[int, int | None], ...]:
        """The number of each trial and of its reference (None without one), which identify the comparison."""
        against: list[int | None] = [each.number for each in self.references]
        return tuple(zip((each.number for each in self.trials), against or [None], strict=True))


def compared(record: StudyRecord) -> list[RowComparison]:
    """Return the comparisons of the rows trained so far, corpus by corpus; none if the record is not an ablation's.

    There is one for each row and reference. If several roles of a row have the same reference, the first one names it.
    """
    rows, planned = trained_rows(record), record.plan
    if planned is None:
        return []
    by_place = {(each.corpus, canonical_json(each.row.point)): each.trial for each in rows}
    found: dict[tuple[int, str], RowComparison] = {}
    for each in rows:
        for role in own_roles(each.row) if each.trial is not None else ():
            assert each.trial is not None, "it is trained"
            row = reference(planned, role)
            against = None if row is None else by_place.get((each.corpus, canonical_json(row.point)))
            own = RowComparison(
                row_name(record.space, planned, role),
                reference_name(planned, role),
                each.trial.config.title,
                (each.trial,),
                () if against is None else (against,),
            )
            found.setdefault((each.trial.number, own.reference), own)
    return list(found.values())


def means(record: StudyRecord) -> list[RowComparison]:
    """Return the comparisons that are means over all corpora; none if there is a single corpus.

    A comparison counts if on every corpus its trial and its reference were trained to their ends.
    """
    corpora = 0 if record.plan is None else len(record.plan.corpora)
    together: dict[tuple[str, str], list[RowComparison]] = {}
    for each in compared(record) if corpora > 1 else ():
        if each.references and all(trial.whole for trial in (*each.trials, *each.references)):
            together.setdefault((each.row, each.reference), []).append(each)
    return [
        RowComparison(
            *named,
            mean_of(corpora),
            tuple(each.trials[0] for each in found),
            tuple(each.references[0] for each in found),
        )
        for named, found in together.items()
        if len(found) == corpora
    ]


def mean_of(corpora: int) -> str:
    """Return the text that stands in place of the corpus in a row that is a mean over ``corpora`` corpora."""
    return f"{corpora} corpora, the mean"


def in_words(record: StudyRecord, point: Point) -> str:
    """Describe a trial that is not a row, such as a step of the path, in words: ``base + depth 5 + composition 2``."""
    space = record.space
    short = names_by_path(space.domains)
    steps = [
        f"{short[axis]} {short_name(space.domains[axis], point[axis])}"
        for axis in changed(space, point)
        if axis != CORPUS
    ]
    return " + ".join(["base", *steps])
