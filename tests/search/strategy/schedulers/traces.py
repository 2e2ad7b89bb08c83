"""Reports of trials in any order of arrival, for every scheduler."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.scheduler import Decision, Scheduler

Report = tuple[int, int, float]
BAD = [math.nan, math.inf, -math.inf]


def trace(subject: Scheduler, picks: Iterable[tuple[int, float]], trials: int) -> Iterator[tuple[Report, Decision]]:
    """Reports in any order of arrival: each pick is a trial's next epoch, unless that trial is over."""
    epochs = dict.fromkeys(range(trials), 0)
    for pick, score in picks:
        if not epochs:
            return
        trial = list(epochs)[pick % len(epochs)]
        epochs[trial] += 1
        report = (trial, epochs[trial], score)
        decision = subject.report(*report)
        if decision.action != "continue":
            del epochs[trial]
        yield report, decision


@dataclass(frozen=True)
class Told:
    """What was told to a scheduler: a report, or, without a score, that a paused trial goes on or one ended."""

    trial: int
    epoch: int = 0
    score: float | None = None
    seconds: float = 0.0
    ended: bool = False
    decision: Decision | None = None


def life(
    subject: Scheduler, picks: Iterable[tuple[int, float]], *, trials: int, workers: int, failing: bool = False
) -> Iterator[Told]:
    """A study on ``workers``, as the driver has it: promoted trials first, then new ones, then, if none is left, those
    that waited for more. Each pick is a running trial's next report, or its end at times, where trials are ``failing``.
    """
    running: set[int] = set()
    born = 0
    for pick, score in picks:
        while len(running) < workers:
            trial = subject.promotable()
            if trial is None and born == trials:
                trial = subject.promotable(trials)
            if trial is not None:
                subject.promoted(trial)
                yield Told(trial)
            elif born < trials:
                trial, born = born, born + 1
            else:
                break
            assert trial not in running
            running.add(trial)
        if not running:
            return
        trial = sorted(running)[pick % len(running)]
        if failing and pick % 11 == 0:
            running.remove(trial)
            subject.ended(trial)
            yield Told(trial, ended=True)
            continue
        epoch, seconds = subject.spending.last(trial) + 1, pick % 7 / 2
        decision = subject.report(trial, epoch, score, seconds)
        if decision.action != "continue":
            running.remove(trial)
        yield Told(trial, epoch, score, seconds, decision=decision)


def tell(subject: Scheduler, told: Told) -> Decision | None:
    """Tell another scheduler the same."""
    if told.score is not None:
        return subject.report(told.trial, told.epoch, told.score, told.seconds)
    if told.ended:
        subject.ended(told.trial)
    else:
        subject.promoted(told.trial)
    return None


# Multiples of 60 interpolate exactly between neighbours for reductions 2 to 6, and tie often.
SCORES = st.integers(0, 9).map(lambda score: 60.0 * score) | st.sampled_from(BAD)
PICKS = st.lists(st.tuples(st.integers(0, 999), SCORES), max_size=120)
