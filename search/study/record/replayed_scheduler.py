"""The scheduler of a study as its record leaves it, to ask what trials meet at the rungs ahead of them."""

from collections.abc import Iterator

from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.strategy.schedulers.scheduler import Scheduler
from skipstack.search.study.record.seed_races import best_of_groups
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord


def replayed_scheduler(record: StudyRecord) -> Scheduler:
    """A scheduler after all reports, promotions and ends of a study with a single objective.

    Raises UserError where another version decided on them.
    """
    search, base = record.study.search, record.base
    epochs = record.study.space.base.epochs
    spared = {number for number, trial in record.trials.items() if trial.reused is not None}
    spared |= {0} if base is not None and base.number == 0 else set()
    subject = scheduler(search.scheduler, epochs, frozenset(spared), seeds=search.lanes_of_a_trial)
    paused: set[int] = set()
    for _, trial, place in sorted(_happened(record), key=lambda each: each[0]):
        if place is None:
            subject.ended(trial.number)
            continue
        score, epoch = _score(trial, place, epochs), int(trial.reports.epochs[place])
        try:
            if trial.number in paused:
                paused.remove(trial.number)
                subject.promoted(trial.number)
            decision = subject.report(trial.number, epoch, score, trial.reports.seconds[place])
        except ValueError as error:
            raise UserError(f"{error} (allowed: a ledger of this version of skipstack)") from None
        if decision.action == "pause":
            paused.add(trial.number)
    for number in sorted(paused):
        if record.trials[number].state == "running":
            subject.promoted(number)
    return subject


def _happened(record: StudyRecord) -> Iterator[tuple[int, TrialRecord, int | None]]:
    """The reports, by their places, and the ends (None) of all trials, with their event numbers."""
    for trial in record.trials.values():
        yield from ((event, trial, place) for place, event in enumerate(trial.reports.events))
        if (end := trial.happened.get("ended")) is not None:
            yield end, trial, None


def _score(trial: TrialRecord, place: int, epochs: int) -> float:
    """The score that is compared: where seeds race, at the end of a group that of all groups so far."""
    score = trial.reports.scores[place]
    if not trial.raced or trial.reports.epochs[place] < epochs:
        return score
    best = best_of_groups(trial.reports[: place + 1], epochs)
    return score if best is None else best.score
