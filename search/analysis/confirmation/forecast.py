"""Forecasts the cost and the power of an ablation from its search, before training."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.data.store.stored import open_store
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.analysis.ablation.labels import reference
from skipstack.search.analysis.ablation.trained import TrainedRow
from skipstack.search.analysis.confirmation.ablated import questions
from skipstack.search.analysis.confirmation.differences import difference_table
from skipstack.search.ledger.events import CorpusPrepared, Event
from skipstack.search.statistics.power import noise, seeds_needed, smallest_difference
from skipstack.search.strategy.proposers.config import ListedConfig, PathConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network

POINTS = 0.1
"""The difference, in points, for which the needed number of seeds is computed."""

Bounds = tuple[float, float]
"""A lower and an upper bound of seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """The power of an ablation. Scores are those of ``data.tasks.measure``, so 0.1 points are 0.001.

    Detectable means that the row gets its mark in 80 of 100 such experiments if no other row has an effect.
    ``smallest``: the smallest detectable difference, None with a single seed; ``needed``: the seeds needed to detect
    ``POINTS``, None if no number suffices, since the test set is too small. ``sentences``: of the test set.
    ``questions``: the number of comparisons per corpus.
    """

    smallest: float | None
    needed: int | None
    sentences: int
    questions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """The forecast of an ablation. ``trials`` and ``most``: the minimum and maximum number of trials, which depends on
    the path.

    ``seeds``: of each trial; ``searched``: of each trial of the search. ``seconds``: bounds of the training time, one
    trial after another; None if the search has no times. ``why``: why the ``resolution`` is unknown.
    """

    trials: int
    most: int
    seeds: int
    searched: int
    seconds: tuple[float, float] | None
    resolution: Resolution | None
    why: str = ""


def forecast(record: StudyRecord, made: Experiment, first: Iterable[Event], folder: StudyFolder) -> Forecast:
    """Forecast an ablation with the first events ``first``: each trial's epochs at the pace of the most similar trials
    of the search, scaled by the size of the corpus.

    Seeds may train together. If s seeds took m seconds, k seeds therefore take between m min(1, k / s) and
    m max(1, k / s): further seeds take between no time and as much as the first ones.
    """
    proposer = made.study.search.proposer
    assert isinstance(proposer, ListedConfig | PathConfig)
    paces = _paces(record, made.study.search.lanes_of_a_trial)
    resolution, why = _resolution(record, made)
    seconds = None
    if paces:
        sizes = _sizes(record, first, folder)
        space, epochs = Space(made.study.space), _epochs(record)
        least = longest = 0.0
        for point in proposer.points:
            updates = epochs * sizes(space.config(point))
            bounds = _pace(paces, point)
            least, longest = least + updates * bounds[0], longest + updates * bounds[1]
        seconds = (least, longest / len(proposer.points) * most(proposer))
    return Forecast(
        trials=len(proposer.points),
        most=most(proposer),
        seeds=made.study.search.seeds,
        searched=record.study.search.seeds,
        seconds=seconds,
        resolution=resolution,
        why=why,
    )


def most(proposer: ListedConfig | PathConfig) -> int:
    """The maximum number of trials. A path adds one for each remaining change at each step, except for its first and
    last two steps, which are listed already.
    """
    if isinstance(proposer, ListedConfig):
        return len(proposer.points)
    changes = len(proposer.changes)
    return len(proposer.points) + len(proposer.starts) * max(0, changes * (changes + 1) // 2 - changes - 3)


def _paces(record: StudyRecord, seeds: int) -> list[tuple[Point, Bounds]]:
    """The seconds of an epoch with so many seeds, for the points of all trained trials."""
    return [(trial.point, _own_pace(trial, seeds)) for trial in record.trials.values() if trial.seconds > 0]


def _own_pace(trial: TrialRecord, seeds: int) -> Bounds:
    """Bounds of a trial's seconds per epoch; if seeds race, averaged over its reports, each with its own seeds."""
    epochs = [(trial.seconds / trial.epochs, len(trial.seeds))]
    if trial.raced:
        epochs = [(report.seconds, len(report.seeds or trial.seeds)) for report in trial.reports]
    least = fmean(seconds * min(1, seeds / own) for seconds, own in epochs)
    return least, fmean(seconds * max(1, seeds / own) for seconds, own in epochs)


def _pace(paces: Sequence[tuple[Point, Bounds]], point: Point) -> Bounds:
    """The mean pace of the trials that differ from ``point`` on the fewest axes."""
    apart = [_apart(own, point) for own, _ in paces]
    nearest = [pace for (_, pace), differing in zip(paces, apart, strict=True) if differing == min(apart)]
    return fmean(least for least, _ in nearest), fmean(most for _, most in nearest)


def _apart(one: Point, other: Point) -> int:
    return sum(canonical_json(one.get(path)) != canonical_json(other.get(path)) for path in {**one, **other})


def _epochs(record: StudyRecord) -> int:
    """The epochs of a whole trial; for functions that return early, the most that any of them reported."""
    whole = [len(trial.reports) for trial in record.trials.values() if trial.reason == "completed"]
    return min(record.study.space.base.epochs, max(whole, default=record.study.space.base.epochs))


def _sizes(record: StudyRecord, first: Iterable[Event], folder: StudyFolder) -> Callable[[Subject], float]:
    """A function to the size of a config's epoch relative to the search, by its corpus; always 1 for a function."""
    ours = record.read_by(record.study.space.base)
    if ours is None:
        return lambda subject: 1.0
    own = _tokens(folder, ours)
    sizes = {event.corpus: _tokens(folder, event) for event in first if isinstance(event, CorpusPrepared)}
    return lambda subject: sizes[identity(as_network(subject).data.corpus)] / own


def _tokens(folder: StudyFolder, prepared: CorpusPrepared) -> int:
    """The number of tokens in train."""
    return len(open_store(folder.corpus(prepared)).splits["train"].forms_N)


def _resolution(record: StudyRecord, made: Experiment) -> tuple[Resolution | None, str]:
    """The power from the search's test scores of the base and the winner; or why it is unknown.

    Other configs that were trained to the end show more of the noise, since the seeds of a search are few.
    """
    if not record.measure.counted:
        return None, "what a function reports is known by seed alone"
    winner, base = record.ranked()[0], record.base
    if base is None or base is winner:
        return None, "the search did not measure the base beside a better config"
    table = difference_table(winner, base)
    if table is None:
        return None, "the search did not keep the test scores of its base and its best config sentence by sentence"
    others = [trial for trial in record.trials.values() if trial.whole and trial not in (winner, base)]
    more = [each for trial in others if (each := difference_table(trial, base)) is not None]
    found = noise([table, *(each for each in more if each.shape[1] == table.shape[1])])
    if found is None:
        return None, "the search trained one seed, which does not show how far seeds lie apart"
    seeds, sentences = made.study.search.seeds, table.shape[1]
    asked = _questions(made)
    smallest = smallest_difference(found, seeds=seeds, sentences=sentences, questions=asked)
    return Resolution(
        smallest=smallest if seeds > 1 else None,
        needed=seeds_needed(found, POINTS / abs(record.measure.factor), sentences=sentences, questions=asked),
        sentences=sentences if winner.packed is None else winner.packed.sentences,
        questions=asked,
    ), ""


def _questions(made: Experiment) -> int:
    """The number of comparisons on a corpus, as the correction counts them: winners may share changes."""
    asked = [
        (row, reference(made.plan, role))
        for role, row in questions([TrainedRow(each, "", None) for each in made.plan.rows])
    ]
    return len(
        {(canonical_json(each.row.point), canonical_json(other.point)) for each, other in asked if other is not None}
    )
