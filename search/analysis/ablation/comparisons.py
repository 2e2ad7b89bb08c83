"""The comparisons of an ablation: each row with each of its references, by corpus and as a mean over corpora.

A row is a config that the ablation trains. Its roles are the reasons why it is trained: as the ``base``, as a
``winner`` (a best config of the search), or ``without`` a change of a winner, for example. Each role except the base
has a reference: the row with which it is compared.
"""

from dataclasses import dataclass, replace

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.families import parts_of
from skipstack.search.analysis.ablation.labels import TAKEN_BACK, Label, label, reference, reference_name, row_name
from skipstack.search.analysis.ablation.rows import changed
from skipstack.search.analysis.ablation.trained import trained_rows, trial_of
from skipstack.search.ledger.events import AblationPlanned, ListedRow, Role
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.side_effects import change_name
from skipstack.spaces.space import Point
from skipstack.spaces.trial import CORPUS


def own_roles(row: ListedRow) -> tuple[Role, ...]:
    """Return the roles in which a row is compared with references.

    These are all its roles, except those in which a winner would be compared with the base a second time: a winner with
    a single change is also the base with this change alone, and without its change it is the base.
    """
    first, *others = row.roles
    if first.kind == "base":
        return (first,)
    return (first, *(role for role in others if (first.kind, role.kind) != ("winner", "alone")))


def comparisons_in(planned: AblationPlanned) -> int:
    """Return the number of different comparisons on a corpus; a comparison that occurs for two winners counts once."""
    asked = ((row, reference(planned, role)) for row in planned.rows for role in own_roles(row))
    return len({(canonical_json(row.point), canonical_json(other.point)) for row, other in asked if other is not None})


def tests_in(planned: AblationPlanned) -> int:
    """Return the number of comparisons by which the level is divided: the ablation's own, times ``parts_of`` its place
    in a family. Testing at 1/n of the level is as strict as testing n times as many comparisons at the whole level.
    """
    return comparisons_in(planned) * (parts_of(planned.place) if planned.family else 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowComparison:
    """The comparison of a row with one reference, on one corpus or as a mean over several corpora.

    ``row``, ``reference``: the names of the configs that were trained for the row and for its reference. They identify
    the comparison; for the base, ``reference`` is empty.
    ``label``: the names of the row in tables, charts and runs.
    ``taken_back``: whether the reference has the change that the row measures; otherwise the row has it.
    ``corpus``: the title of the corpus, or the text of ``mean_of``.
    ``trials``: the trials of the row, one for each corpus.
    ``references``: the trials of the reference in the same order; empty for the base, or if the reference has no trial.
    """

    row: str
    reference: str
    label: Label
    taken_back: bool
    corpus: str
    trials: tuple[TrialRecord, ...]
    references: tuple[TrialRecord, ...] = ()

    @property
    def numbers(self) -> tuple[int | None, int | None]:
        """The numbers of the trials with and without the change of a row on one corpus; None for a missing trial."""
        own, other = self.trials[0].number, self.references[0].number if self.references else None
        return (other, own) if self.taken_back else (own, other)


def compared(record: StudyRecord) -> list[RowComparison]:
    """Return the comparisons of all rows that have a trial, corpus by corpus. The record of a search has none.

    Each trial is compared once with each reference of its ``own_roles``. If several roles have the same reference, the
    first of these roles names the row.
    """
    rows, planned = trained_rows(record), record.plan
    if planned is None:
        return []
    found: dict[tuple[int, str], RowComparison] = {}
    for each in rows:
        if (trial := each.trial) is None:
            continue
        for role in own_roles(each.row):
            row = reference(planned, role)
            if row is None and role.kind in TAKEN_BACK:  # a round of seeds has the row for another of its roles
                continue
            against = trial_of(row, each.corpus, rows)
            own = RowComparison(
                row=row_name(record.space, planned, role),
                reference=reference_name(planned, role),
                label=label(record.space, planned, role),
                taken_back=role.kind in TAKEN_BACK,
                corpus=trial.config.title,
                trials=(trial,),
                references=() if against is None else (against,),
            )
            found.setdefault((trial.number, own.reference), own)
    return list(found.values())


def means(record: StudyRecord) -> list[RowComparison]:
    """Return the comparisons of means over all corpora; none if there is a single corpus.

    A row is compared with a reference only if both were trained to their ends on every corpus.
    """
    corpora = 0 if record.plan is None else len(record.plan.corpora)
    together: dict[tuple[str, str], list[RowComparison]] = {}
    for each in compared(record) if corpora > 1 else ():
        if each.references and all(trial.whole for trial in (*each.trials, *each.references)):
            together.setdefault((each.row, each.reference), []).append(each)
    return [
        replace(
            found[0],
            corpus=mean_of(corpora),
            trials=tuple(each.trials[0] for each in found),
            references=tuple(each.references[0] for each in found),
        )
        for found in together.values()
        if len(found) == corpora
    ]


def mean_of(corpora: int) -> str:
    """Return the title of a mean over ``corpora`` corpora, in place of the title of a corpus."""
    return f"{corpora} corpora, the mean"


def in_words(record: StudyRecord, point: Point) -> str:
    """Describe a point by its changes to the base, apart from the corpus: ``base + depth 5 + composition 2``.

    This is the name of trials that are not rows, such as those of the greedy path.
    """
    space = record.space
    steps = (change_name(space, axis, point[axis]) for axis in changed(space, point) if axis != CORPUS)
    return " + ".join(["base", *steps])
