"""The comparisons of an ablation: its rows in words, each beside its references, and their means over corpora."""

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
    """The roles of a row that are compared. A winner with a single change is compared once: without the change it is
    the base, and the base with the change is the winner.
    """
    first = row.roles[0]
    return tuple(role for role in row.roles if role == first or first.kind not in ("base", "winner"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row beside one reference, on a corpus, or on each of several if it is a mean: ``trials`` and ``references`` are
    in the order of the corpora. ``row`` and ``reference`` are in words; the base has no reference.
    """

    row: str
    reference: str
    corpus: str
    trials: tuple[TrialRecord, ...]
    references: tuple[TrialRecord, ...] = ()

    @property
    def numbers(self) -> tuple[tuple[int, int | None], ...]:
        """The numbers of its trials, each with that of its reference, which names the comparison in an ablation."""
        against: list[int | None] = [each.number for each in self.references]
        return tuple(zip((each.number for each in self.trials), against or [None], strict=True))


def compared(record: StudyRecord) -> list[Comparison]:
    """The comparisons of the rows trained so far, corpus by corpus: one for each row and reference, by the first role
    of the row with that reference.
    """
    rows, planned = trained_rows(record), record.plan
    if planned is None:
        return []
    by_place = {(each.corpus, canonical_json(each.row.point)): each.trial for each in rows}
    found: dict[tuple[int, str], Comparison] = {}
    for each in rows:
        for role in own_roles(each.row) if each.trial is not None else ():
            assert each.trial is not None, "it is trained"
            row = reference(planned, role)
            against = None if row is None else by_place.get((each.corpus, canonical_json(row.point)))
            own = Comparison(
                row_name(record.space, planned, role),
                reference_name(planned, role),
                each.trial.config.title,
                (each.trial,),
                () if against is None else (against,),
            )
            found.setdefault((each.trial.number, own.reference), own)
    return list(found.values())


def means(record: StudyRecord) -> list[Comparison]:
    """The mean of each comparison that every corpus has, over whole trials; none with a single corpus."""
    corpora = 0 if record.plan is None else len(record.plan.corpora)
    together: dict[tuple[str, str], list[Comparison]] = {}
    for each in compared(record) if corpora > 1 else ():
        if each.references and all(trial.whole for trial in (*each.trials, *each.references)):
            together.setdefault((each.row, each.reference), []).append(each)
    return [
        Comparison(
            *named,
            mean_of(corpora),
            tuple(each.trials[0] for each in found),
            tuple(each.references[0] for each in found),
        )
        for named, found in together.items()
        if len(found) == corpora
    ]


def mean_of(corpora: int) -> str:
    """The text that a row has in place of its corpus if it is a mean."""
    return f"{corpora} corpora, the mean"


def in_words(record: StudyRecord, point: Point) -> str:
    """The config of a trial that is no row, such as a step of the path: ``base + depth 5 + composition 2``."""
    space = record.space
    short = names_by_path(space.domains)
    steps = [
        f"{short[axis]} {short_name(space.domains[axis], point[axis])}"
        for axis in changed(space, point)
        if axis != CORPUS
    ]
    return " + ".join(["base", *steps])
