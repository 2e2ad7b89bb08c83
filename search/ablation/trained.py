"""Results of an ablation: its rows with their trials, and the steps of the greedy path."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ablation.labels import reference, reference_name, row_name
from skipstack.search.ablation.rows import changed
from skipstack.search.ledger.event_values import ListedRow, Role
from skipstack.search.proposers.config import PathConfig
from skipstack.search.proposers.path import Candidate, steps
from skipstack.search.record.domain_parts import short_name
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord
from skipstack.spaces.domains import Choice
from skipstack.spaces.short_names import names_by_path
from skipstack.spaces.space import Point
from skipstack.spaces.trial import CORPUS


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """A row on a corpus, whose name is empty if there is only one; ``trial``: None before it is proposed."""

    row: ListedRow
    corpus: str
    trial: TrialRecord | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the path: the chosen change and its ``score``, the mean over the corpora.

    ``instead``: the scores of the other candidates; None: a trial has no score. ``trials``: the trials by change.
    """

    axis: str
    score: float
    instead: dict[str, float | None]
    trials: dict[str, tuple[int, ...]]


def trained_rows(record: StudyRecord) -> list[TrainedRow]:
    """The rows of an ablation in their order, corpus by corpus."""
    if record.plan is None:
        return []
    domain = record.space.domains.get(CORPUS)
    axis = domain if isinstance(domain, Choice) and len(record.plan.corpora) > 1 else None
    name = "".join(record.plan.corpora) if axis is None else ""
    trials = {canonical_json(trial.point): trial for trial in record.trials.values()}

    def trained(row: ListedRow, point: Point, corpus: str) -> TrainedRow:
        return TrainedRow(row, corpus, trials.get(canonical_json(point)))

    if axis is None:
        return [trained(row, row.point, name) for row in record.plan.rows]
    return [
        trained(row, record.space.moved(row.point, CORPUS, value), corpus)
        for corpus, value in zip(axis.names, axis.values, strict=True)
        for row in record.plan.rows
    ]


def own_roles(row: ListedRow) -> tuple[Role, ...]:
    """The roles of a row that ask something: a winner with a single change is compared once, since without it, it is
    the base, and the base with it is the winner.
    """
    first = row.roles[0]
    return tuple(role for role in row.roles if role == first or first.kind not in ("base", "winner"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row beside one reference, on a corpus, or on each of several in a mean: ``trials`` and ``references`` in the
    order of the corpora. ``row`` and ``reference`` are in words; the base has no reference.
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
    """The comparisons of the rows trained so far, corpus by corpus: one for each row and reference, the first for which
    the row is there first.
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
    """What stands in the place of a corpus where a row is a mean."""
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


def walked(record: StudyRecord) -> Iterator[Step]:
    """The steps of the greedy path so far; none if no path was asked for."""
    config = record.study.search.proposer
    if not isinstance(config, PathConfig):
        return
    scores, numbers = _scores(record), {canonical_json(trial.point): trial.number for trial in record.trials.values()}
    for found, best in steps(record.space, config, scores):
        if best is None:
            return
        reached = {candidate.axis: _mean(candidate, scores) for candidate in found}
        score = reached.pop(best.axis)
        assert score is not None, "the chosen change has a score"
        texts = {candidate.axis: map(canonical_json, candidate.points) for candidate in found}
        trials = {axis: tuple(numbers[text] for text in points) for axis, points in texts.items()}
        yield Step(best.axis, score, reached, trials)


def settled_trials(record: StudyRecord, config: PathConfig) -> int:
    """The number of trials known so far: the listed ones, and the candidates of each step of the path so far."""
    taken = (
        point for found, _ in steps(record.space, config, _scores(record)) for each in found for point in each.points
    )
    return len({canonical_json(point) for point in (*config.points, *config.starts, *taken)})


def _scores(record: StudyRecord) -> dict[str, float | None]:
    """The scores of the ended trials by the canonical JSON of their points; None: a trial without a score."""
    return {canonical_json(trial.point): trial.score for trial in record.trials.values() if trial.reason is not None}


def _mean(candidate: Candidate, scores: dict[str, float | None]) -> float | None:
    """The mean score over the corpora; None if a trial has no score."""
    reached = [score for point in candidate.points if (score := scores.get(canonical_json(point))) is not None]
    return fmean(reached) if len(reached) == len(candidate.points) else None
