"""Converts the curve of an earlier study's trial for a new study with another resource, or with more or less of it."""

from collections.abc import Sequence
from itertools import accumulate

from skipstack.search.strategy.schedulers.config import RungConfig
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.function import is_imported

Curve = Sequence[tuple[int, float]]


def comparable(trial: TrialRecord, study: StudyConfig) -> tuple[Curve, bool]:
    """Return the curve that an earlier ``trial`` would have in ``study``, and whether the trial is complete there.

    The curve consists of pairs of an epoch and its score. If seeds race in ``study`` (are trained in groups, one after
    another), it is a single pair of the number of seeds and their score. The number is 1 if the trial was not trained
    to its end.

    A complete trial has used the full resource of a trial of ``study``. If the resource is epochs, the trial has
    trained all epochs. If it is seconds, the trial has used the scheduler's maximum of seconds, or trained all epochs.
    If seeds race in either study, as many seeds as a trial of ``study`` has were trained to the end. A function that
    returned has trained all its epochs. A trial with another number of epochs in its config is never complete, since
    its learning rates may depend on that number. But another tool records no such number: its completed trials are
    complete.
    """
    epochs, imported = study.space.base.epochs, is_imported(trial.config)
    alike = imported or trial.config.epochs == epochs
    returned = trial.reason == "completed" if imported else trial.returned_early
    ended = returned or len(trial.reports) >= trial.config.epochs  # if seeds race, this is the end of the first group
    if study.search.seeds_race:
        score = trial.curve[-1][1] if trial.score is None else trial.score
        seeds = len(trial.seeds) if ended else 1
        return [(seeds, score)], alike and ended and seeds >= study.search.lanes_of_a_trial
    if trial.raced:
        last = min(epochs, trial.config.epochs if ended else len(trial.reports))
        return [(last, trial.curve[-1][1])], alike and ended and len(trial.seeds) >= study.search.lanes_of_a_trial
    curve = trial.curve[:epochs]
    whole = returned or len(curve) == epochs
    scheduler = study.search.scheduler
    if isinstance(scheduler, RungConfig) and scheduler.maximum is not None:
        spent = accumulate(report.seconds for report in trial.reports)
        last = next((place for place, seconds in enumerate(spent, 1) if seconds >= scheduler.maximum), epochs)
        curve, whole = curve[:last], whole or last <= len(curve)
    return curve, alike and whole
