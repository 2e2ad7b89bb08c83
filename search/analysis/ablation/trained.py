"""The trained rows of an ablation, each with its trial, and the steps of its greedy path."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import ListedRow
from skipstack.search.strategy.proposers.config import PathConfig
from skipstack.search.strategy.proposers.path import steps
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Choice
from skipstack.spaces.trial import CORPUS


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """A row of an ablation on one corpus, with its trial.

    ``corpus``: the corpus's name; empty if the ablation names no corpus. ``trial``: its trial; None if the row was not
    proposed yet.
    """

    row: ListedRow
    corpus: str
    trial: TrialRecord | None


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of the greedy path: it makes the change with the best score among the remaining ones (the candidates).

    ``axis``: the axis of the chosen change. ``score``: the score with this change, a mean over the corpora.
    ``instead``: the scores of the other candidates, by axis; None for a candidate with an unscored trial.
    ``trials``: the trial numbers of all candidates, including the chosen one, by axis.
    """

    axis: str
    score: float
    instead: dict[str, float | None]
    trials: dict[str, tuple[int, ...]]


def trained_rows(record: StudyRecord) -> list[TrainedRow]:
    """Return the rows of an ablation in their order, corpus by corpus; none if the record is not an ablation's."""
    if record.plan is None:
        return []
    plan, domain = record.plan, record.space.domains.get(CORPUS)
    if isinstance(domain, Choice) and len(plan.corpora) > 1:
        found = [
            (row, corpus, record.space.moved(row.point, CORPUS, value))
            for corpus, value in zip(domain.names, domain.values, strict=True)
            for row in plan.rows
        ]
    else:
        found = [(row, "".join(plan.corpora), row.point) for row in plan.rows]
    trials = {canonical_json(trial.point): trial for trial in record.trials.values()}
    return [TrainedRow(row, corpus, trials.get(canonical_json(point))) for row, corpus, point in found]


def trial_of(row: ListedRow | None, corpus: str, trained: Iterable[TrainedRow]) -> TrialRecord | None:
    """Return the trial of a row on a corpus; None if ``row`` is None, or if it has no trial there."""
    return next((each.trial for each in trained if each.row is row and each.corpus == corpus), None)


def walked(record: StudyRecord) -> Iterator[PathStep]:
    """Yield the steps of the greedy path so far; none if the ablation has no path.

    The scores are those of the first round, by which the path chose its steps.
    """
    record = record.first_round or record
    config = record.study.search.proposer
    if not isinstance(config, PathConfig):
        return
    scores, numbers = _scores(record), {canonical_json(trial.point): trial.number for trial in record.trials.values()}
    for found, best in steps(record.space, config, scores):
        if best is None:
            return
        reached = {candidate.axis: candidate.score(scores) for candidate in found}
        score = reached.pop(best.axis)
        assert score is not None, "the chosen change has a score"
        texts = {candidate.axis: map(canonical_json, candidate.points) for candidate in found}
        trials = {axis: tuple(numbers[text] for text in points) for axis, points in texts.items()}
        yield PathStep(best.axis, score, reached, trials)


def settled_trials(record: StudyRecord, config: PathConfig) -> int:
    """Return the minimum number of trials of an ablation with a path, given its scores so far.

    These are the listed points, the starts of the path, and the candidates of each known step. Later candidates depend
    on scores. A point that occurs several times is one trial.
    """
    taken = (
        point for found, _ in steps(record.space, config, _scores(record)) for each in found for point in each.points
    )
    return len({canonical_json(point) for point in (*config.points, *config.starts, *taken)})


def _scores(record: StudyRecord) -> dict[str, float | None]:
    """Return the scores of the ended trials by the canonical JSON of their points; None for a trial without a score."""
    return {canonical_json(trial.point): trial.score for trial in record.trials.values() if trial.reason is not None}
