"""What an ablation will cost and what it can tell, read off the search before anything is trained."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.data.store.stored import open_store
from skipstack.search.ablation.experiment import Experiment
from skipstack.search.ablation.trained import TrainedRow
from skipstack.search.analysis.confirmation.ablated import questions
from skipstack.search.analysis.confirmation.differences import difference_table
from skipstack.search.ledger.events import CorpusPrepared, Event
from skipstack.search.proposers.config import ListedConfig, PathConfig
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord
from skipstack.search.statistics.power import LEVEL, noise, seeds_needed, smallest_difference
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network

POINTS = 0.1
"""The difference, as people write it, of which it is said how many seeds would tell it."""

Bounds = tuple[float, float]
"""Of seconds: the least and the most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """Which differences can be told from chance. Scores are those of ``data.tasks.measure``, so 0.1 points are 0.001.

    ``smallest``: the smallest that so many seeds can tell, None where a single one tells nothing; ``needed``: how many
    tell ``POINTS``, None where no number of them would, since the test set is too small. ``sentences``: of that set.
    ``questions``: how many are asked at once on a corpus.
    """

    smallest: float | None
    needed: int | None
    sentences: int
    questions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """``trials``: how many are trained at least, ``most`` at most: a path is found as it is walked.

    ``seeds``: of each of them; ``searched``: of each trial of the search. ``seconds``: of training, one trial after
    another, at least and at most; None where the search has no times. ``why``: why the ``resolution`` is not known.
    """

    trials: int
    most: int
    seeds: int
    searched: int
    seconds: tuple[float, float] | None
    resolution: Resolution | None
    why: str = ""


def forecast(record: StudyRecord, made: Experiment, first: Iterable[Event], folder: StudyFolder) -> Forecast:
    """Of an ablation that begins with ``first``: the epochs of each trial at the pace of those most like it in the
    search, on other corpora as much slower as they are larger.

    Seeds may train together, so how long k of them take is known within bounds alone, where s took m seconds: further
    seeds take no time at least, and as much as the first ones at most, so it is m min(1, k / s) to m max(1, k / s).
    """
    proposer, seeds = made.study.search.proposer, made.study.search.seeds
    assert isinstance(proposer, ListedConfig | PathConfig)
    paces = _paces(record, seeds)
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
        seeds=seeds,
        searched=record.study.search.seeds,
        seconds=seconds,
        resolution=resolution,
        why=why,
    )


def most(proposer: ListedConfig | PathConfig) -> int:
    """Trials at most: of a path, whose first step and last two are listed already, one for each change that is left."""
    if isinstance(proposer, ListedConfig):
        return len(proposer.points)
    changes = len(proposer.changes)
    return len(proposer.points) + len(proposer.starts) * max(0, changes * (changes + 1) // 2 - changes - 3)


def _paces(record: StudyRecord, seeds: int) -> list[tuple[Point, Bounds]]:
    """Seconds of an epoch of so many seeds, by the points of the trials that were trained."""
    return [(trial.point, _own_pace(trial, seeds)) for trial in record.trials.values() if trial.seconds > 0]


def _own_pace(trial: TrialRecord, seeds: int) -> Bounds:
    """Where seeds race, report by report, each with the seeds that it is about."""
    epochs = [(trial.seconds / trial.epochs, len(trial.seeds))]
    if trial.raced:
        epochs = [(report.seconds, len(report.seeds or trial.seeds)) for report in trial.reports]
    least = fmean(seconds * min(1, seeds / own) for seconds, own in epochs)
    return least, fmean(seconds * max(1, seeds / own) for seconds, own in epochs)


def _pace(paces: Sequence[tuple[Point, Bounds]], point: Point) -> Bounds:
    """That of the trials that differ on the fewest axes, the mean over them."""
    apart = [_apart(own, point) for own, _ in paces]
    nearest = [pace for (_, pace), differing in zip(paces, apart, strict=True) if differing == min(apart)]
    return fmean(least for least, _ in nearest), fmean(most for _, most in nearest)


def _apart(one: Point, other: Point) -> int:
    return sum(canonical_json(one.get(path)) != canonical_json(other.get(path)) for path in {**one, **other})


def _epochs(record: StudyRecord) -> int:
    """Those of a whole trial: of functions that return before their last epoch, as many as any of them reported."""
    whole = [len(trial.reports) for trial in record.trials.values() if trial.reason == "completed"]
    return min(record.study.space.base.epochs, max(whole, default=record.study.space.base.epochs))


def _sizes(record: StudyRecord, first: Iterable[Event], folder: StudyFolder) -> Callable[[Subject], float]:
    """How much larger an epoch of a trial is than one of the search, by its corpus; that of a function is the same."""
    ours = record.read_by(record.study.space.base)
    if ours is None:
        return lambda subject: 1.0
    own = _tokens(folder, ours)
    sizes = {event.corpus: _tokens(folder, event) for event in first if isinstance(event, CorpusPrepared)}
    return lambda subject: sizes[identity(as_network(subject).data.corpus)] / own


def _tokens(folder: StudyFolder, prepared: CorpusPrepared) -> int:
    """Of train."""
    return len(open_store(folder.corpus(prepared)).splits["train"].forms_N)


def _resolution(record: StudyRecord, made: Experiment) -> tuple[Resolution | None, str]:
    """From the base and the winner as the search measured them on test; or why it cannot be known."""
    if not record.measure.counted:
        return None, "what a function reports is known by seed alone"
    winner, base = record.ranked()[0], record.base
    if base is None or base is winner:
        return None, "the search did not measure the base beside a better config"
    table = difference_table(winner, base)
    if table is None:
        return None, "the search did not keep the test scores of its base and its best config sentence by sentence"
    found = noise([table])
    if found is None:
        return None, "the search trained one seed, which does not show how far seeds lie apart"
    seeds, sentences = made.study.search.seeds, table.shape[1]
    asked = len(questions([TrainedRow(row, "", None) for row in made.plan.rows])) - 1  # the base asks for nothing
    level = LEVEL / asked
    return Resolution(
        smallest=smallest_difference(found, seeds=seeds, sentences=sentences, level=level) if seeds > 1 else None,
        needed=seeds_needed(found, POINTS / abs(record.measure.factor), sentences=sentences, level=level),
        sentences=sentences,
        questions=asked,
    ), ""
