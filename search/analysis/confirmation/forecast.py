"""Forecasts the cost and the power of an ablation from its search, before the ablation trains."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from statistics import fmean
from typing import Final

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.data.basis.seeding import generator
from skipstack.data.store.stored import open_store
from skipstack.search.analysis.ablation.comparisons import comparisons_in, tests_in
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.analysis.confirmation.differences import difference_table
from skipstack.search.ledger.events import AblationPlanned, CorpusPrepared, Event, ListedRow
from skipstack.search.statistics.multiple_testing import LEVEL
from skipstack.search.statistics.power import Noise, noise, seeds_needed, smallest_difference
from skipstack.search.statistics.sequential import expected
from skipstack.search.strategy.proposers.config import ListedConfig, PathConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import as_network

POINTS = 0.1
"""The difference, in points, for which the needed number of seeds is computed."""

SIMULATED: Final = 4000
"""The number of simulated experiments for the expected number of seeds."""

Bounds = tuple[float, float]
"""A lower and an upper bound of seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """The power of an ablation. Scores are those of ``data.tasks.measure``, so that 0.1 points are 0.001.

    A difference is detectable if 80 of 100 such ablations mark it as significant when no other row has an effect.

    ``smallest``: the smallest detectable difference. It allows for the error in the noise, which is estimated from the
    few seeds of the search. None with a single seed.
    ``as_searched``: the smallest detectable difference if the noise equals the estimate. If the ablation's rows have
    this noise, the ablation's report shows a value near ``as_searched``.
    ``needed``: the number of seeds needed to detect ``POINTS``. None if ``power.MOST_SEEDS`` are too few, usually
    because the test set is too small.
    ``sentences``: the number of sentences of the test set.
    ``questions``: the number of comparisons per corpus.
    """

    smallest: float | None
    as_searched: float | None
    needed: int | None
    sentences: int
    questions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """The seeds that rows get on average until they are decided.

    ``looks``: the numbers of seeds at which rows are compared. ``idle``: the seeds of a row without an effect.
    ``detectable``: the seeds of a row with the smallest effect that would be detectable if every row were trained with
    the largest number of seeds at once. Both ignore the variation between test sentences.
    """

    looks: tuple[int, ...]
    idle: float
    detectable: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """The forecast of an ablation: its cost and its power.

    ``trials``, ``most``: the minimum and the maximum number of trials; they can differ only if it walks a path.
    ``seeds``, ``searched``: the number of seeds of a trial, in the ablation and in the search.
    ``seconds``: bounds of the training time if trials run one after another; None if the search has no times.
    ``resolution``, ``why``: the power, and the reason if it is None (unknown).
    ``tuning``: the seconds of training for tuning all rows again, if each trial takes as long as the average trial of
    the search; None if rows are not tuned again, or if the search has no times. ``scheduler``: the kind of the study's
    scheduler, which also stops trials of the tuning.
    ``rounds``: the seeds of rows that train until they are decided; None if their number is fixed.
    """

    trials: int
    most: int
    seeds: int
    searched: int
    seconds: tuple[float, float] | None
    resolution: Resolution | None
    why: str = ""
    tuning: float | None = None
    scheduler: str = "none"
    rounds: Rounds | None = None


def forecast(record: StudyRecord, made: Experiment, first: Iterable[Event], folder: StudyFolder) -> Forecast:
    """Forecast the cost and the power of an ablation.

    ``record``: the study's record. ``made``: the planned ablation. ``first``: its first events. ``folder``: the study's
    folder.

    The time of a trial is its number of epochs times the seconds per epoch, scaled by the size of the corpus. The
    seconds per epoch are those of the most similar trials of the search. Seeds may train in one batch, so an additional
    seed may take no time. If s seeds took m seconds, k seeds take between m min(1, k / s) and m max(1, k / s).
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
        seconds = (least, longest / len(proposer.points) * most(proposer, made.plan.rows))
    return Forecast(
        trials=len(proposer.points),
        most=most(proposer, made.plan.rows),
        seeds=made.study.search.seeds,
        searched=record.study.search.seeds,
        seconds=seconds,
        resolution=resolution,
        why=why,
        tuning=_tuning(record, made),
        scheduler=record.study.search.scheduler.kind,
        rounds=_rounds(made.plan) if made.plan.looks else None,
    )


def _tuning(record: StudyRecord, made: Experiment) -> float | None:
    taken = [trial.seconds for trial in record.trials.values() if trial.seconds > 0]
    if made.plan.tuning is None or not taken:
        return None
    return fmean(taken) * made.plan.tuning.trials * len(made.plan.tuning.arms)


def _rounds(planned: AblationPlanned) -> Rounds:
    looks, tests = planned.looks, tests_in(planned)
    alone = Noise(seeds=1.0, sentences=0.0, rest=0.0)
    effect = smallest_difference(alone, seeds=looks[-1], sentences=2, questions=tests)
    idle, detectable = (
        expected(
            looks, planned.spending, each, level=LEVEL / tests, experiments=SIMULATED, source=generator(0, "rounds")
        ).seeds
        for each in (0.0, effect)
    )
    return Rounds(looks=looks, idle=idle, detectable=detectable)


def most(proposer: ListedConfig | PathConfig, rows: Sequence[ListedRow]) -> int:
    """Return the maximum number of trials of an ablation with these ``rows``.

    If the ablation walks a path, each step on each corpus adds one trial for each change that remains. The trials of
    the base and of the winner, with which the path begins and ends, are among the listed points. So are those of the
    first step and of the last step but one, if the rows include each single change, made in the base and taken back
    from the winner.
    """
    if isinstance(proposer, ListedConfig):
        return len(proposer.points)
    singles = any(role.kind in ("alone", "without") for row in rows for role in row.roles)
    changes = len(proposer.changes)
    listed = 2 + (changes + 2 if singles else 0)
    return len(proposer.points) + len(proposer.starts) * max(0, 1 + changes * (changes + 1) // 2 - listed)


def _paces(record: StudyRecord, seeds: int) -> list[tuple[Point, Bounds]]:
    """Return the point of each trained trial with bounds of the seconds that an epoch takes with ``seeds`` seeds."""
    return [(trial.point, _own_pace(trial, seeds)) for trial in record.trials.values() if trial.seconds > 0]


def _own_pace(trial: TrialRecord, seeds: int) -> Bounds:
    """Return bounds of the seconds that an epoch of this trial takes with ``seeds`` seeds.

    If seeds race (are trained in groups), the number of seeds differs between reports. The bounds are then means over
    the reports.
    """
    epochs = [(trial.seconds / trial.epochs, len(trial.seeds))]
    if trial.raced:
        epochs = [(report.seconds, len(report.seeds or trial.seeds)) for report in trial.reports]
    least = fmean(seconds * min(1, seeds / own) for seconds, own in epochs)
    return least, fmean(seconds * max(1, seeds / own) for seconds, own in epochs)


def _pace(paces: Sequence[tuple[Point, Bounds]], point: Point) -> Bounds:
    """Return the mean of the bounds in ``paces`` over the trials that differ from ``point`` on the fewest axes."""
    apart = [_apart(own, point) for own, _ in paces]
    nearest = [pace for (_, pace), differing in zip(paces, apart, strict=True) if differing == min(apart)]
    return fmean(least for least, _ in nearest), fmean(most for _, most in nearest)


def _apart(one: Point, other: Point) -> int:
    return sum(canonical_json(one.get(path)) != canonical_json(other.get(path)) for path in {**one, **other})


def _epochs(record: StudyRecord) -> int:
    """Return the number of epochs of a trial that is trained to its end.

    This is the number of epochs of the base. A function may return early, though. If all completed trials reported
    fewer epochs, the result is the largest number that one of them reported.
    """
    whole = [len(trial.reports) for trial in record.trials.values() if trial.reason == "completed"]
    return min(record.study.space.base.epochs, max(whole, default=record.study.space.base.epochs))


def _sizes(record: StudyRecord, first: Iterable[Event], folder: StudyFolder) -> Callable[[Subject], float]:
    """Return a function from a config to the size of its corpus, relative to the corpus of the search's base.

    The size is the number of training tokens. For a user's function, which has no corpus, it is 1. ``first``: as in
    ``forecast``. If rows are tuned again, these are the events of the first row's search, which may lack corpora of the
    others.
    """
    ours = record.read_by(record.study.space.base)
    if ours is None:
        return lambda subject: 1.0
    own = _tokens(folder, ours)
    known = {event.corpus: event for event in (*record.corpora.values(), *first) if isinstance(event, CorpusPrepared)}

    @cache
    def size(corpus: str) -> float:
        return _tokens(folder, known[corpus]) / own

    return lambda subject: size(identity(as_network(subject).data.corpus))


def _tokens(folder: StudyFolder, prepared: CorpusPrepared) -> int:
    """Return the number of tokens in the training split of a prepared corpus."""
    return len(open_store(folder.stored(prepared)).splits["train"].forms_N)


def _resolution(record: StudyRecord, made: Experiment) -> tuple[Resolution | None, str]:
    """Compute the power of an ablation from its search's test scores. If it is unknown, returns None and the reason.

    The noise is estimated from the differences between the base and the winner (the best config), and between the base
    and all other configs that were trained to their ends. The others are used because a search has few seeds.
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
    tests = tests_in(made.plan)
    smallest, as_searched = (
        smallest_difference(each, seeds=seeds, sentences=sentences, questions=tests) if seeds > 1 else None
        for each in (found, replace(found, degrees=inf))
    )
    return Resolution(
        smallest=smallest,
        as_searched=as_searched,
        needed=seeds_needed(found, POINTS / abs(record.measure.factor), sentences=sentences, questions=tests),
        sentences=sentences if winner.packed is None else winner.packed.sentences,
        questions=comparisons_in(made.plan),
    ), ""
