"""Rebuilds the scheduler of a study from its record, to find out what it will decide at the next rungs."""

from collections.abc import Iterator

from skipstack.data.basis.errors import UserError
from skipstack.search.strategy.schedulers.scheduler import Scheduler
from skipstack.search.study.record.seed_races import best_of_groups
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.strategy import study_scheduler


def replayed_scheduler(record: StudyRecord) -> Scheduler:
    """Create the study's scheduler, and pass it all reports, promotions and ends of trials in the record.

    Call this only for a study with a single objective. Raises UserError for a report that does not fit the decisions of
    this version of the scheduler.
    """
    base, epochs = record.base, record.study.space.base.epochs
    spared = {number for number, trial in record.trials.items() if trial.reused is not None}
    spared |= {0} if base is not None and base.number == 0 else set()
    subject = study_scheduler(record.study, spared)
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
    """Yield the reports and the ends of all trials, unordered. Each item has the event number and the trial. It also
    has the index of the report in the trial, or None for an end.
    """
    for trial in record.trials.values():
        yield from ((event, trial, place) for place, event in enumerate(trial.reports.events))
        if (end := trial.happened.get("ended")) is not None:
            yield end, trial, None


def _score(trial: TrialRecord, place: int, epochs: int) -> float:
    """Return the score by which the scheduler compares a report.

    If seeds race and the report completes a group, it is the joint score of all groups so far. ``place``: the index of
    the report. ``epochs``: the number of epochs of a complete group.
    """
    score = trial.reports.scores[place]
    if not trial.raced or trial.reports.epochs[place] < epochs:
        return score
    best = best_of_groups(trial.reports[: place + 1], epochs)
    return score if best is None else best.score
