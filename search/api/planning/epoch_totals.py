"""Estimates the total number of epochs that a study trains: in the best, a typical and the worst case."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from skipstack.data.basis.seeding import generator
from skipstack.search.strategy.schedulers.scheduler import Scheduler
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.strategy import study_scheduler
from skipstack.spaces.space import Space


@dataclass(frozen=True, slots=True)
class EpochTotals:
    """The total number of epochs that the trials of a study train. An epoch of all seeds of a trial counts as one.

    ``best``: if all trials but the base are stopped as early as possible. ``typical``: if each trial has a constant
    score, and trials run one after another in random order under the study's scheduler. ``worst``: if no trial is
    stopped. ``base``: the epochs of the base trial alone; 0 if the base is not a trial. The other numbers include these
    epochs.
    """

    best: int
    typical: int
    worst: int
    base: int


def epoch_totals(study: StudyConfig, trials: int, space: Space, *, epoch_seconds: float | None = None) -> EpochTotals:
    """Estimate the total number of epochs of a study.

    ``trials``: the number of trials. ``space``: the study's space. If it contains the base, the base is one of the
    trials, and is never stopped. ``epoch_seconds``: the duration of an epoch, needed only for rungs in seconds. None
    means that all epochs of a trial take exactly its maximum seconds.
    """
    spared = space.contains(study.space.base)
    epochs, subject = study.space.base.epochs, study_scheduler(study, {0} if spared else frozenset())
    spending, lowest = subject.spending, min(subject.rungs, default=None)
    seconds, whole, least = 0.0, epochs, Fraction(subject.earliest)
    if spending.resource == "seconds":
        seconds = epoch_seconds or spending.whole / epochs
        whole = min(epochs, ceil(spending.whole / seconds))
        least = Fraction(whole if lowest is None else min(whole, ceil(lowest / seconds)))
    elif spending.resource == "seeds" and lowest is not None:
        least = Fraction(lowest * epochs, spending.whole)
    base = whole if spared else 0
    worst = base + (trials - spared) * whole
    ranks = generator(study.search.seed, "plan", "ranks").permutation(trials)
    return EpochTotals(
        best=base + ceil((trials - spared) * least),
        typical=min(worst, ceil(_one_after_another(subject, [float(rank) for rank in ranks], seconds))),
        worst=worst,
        base=base,
    )


def _one_after_another(subject: Scheduler, scores: list[float], seconds: float) -> Fraction:
    """Simulate the scheduler ``subject`` with a single worker and constant scores, and return the number of trained
    epochs. ``scores``: the score of each trial. ``seconds``: the duration of an epoch.
    """
    spent, born = Fraction(0), 0
    while True:
        trial = subject.promotable()
        if trial is None and born == len(scores):
            trial = subject.promotable(born)
            if trial is None:
                return spent
        if trial is None:
            trial, born = born, born + 1
        else:
            subject.promoted(trial)
        action = "continue"
        while action == "continue":
            spent += subject.spending.share(trial)
            epoch = subject.spending.last(trial) + 1
            action = subject.report(trial, epoch, scores[trial], seconds).action
