"""Describes in sentences what a trial is doing, or how it ended."""

from collections.abc import Iterator
from typing import Final

from skipstack.dashboards.reports.wording import counted_rung, sentence
from skipstack.data.basis.counted import counted
from skipstack.search.strategy.schedulers.config import Resource
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord

FAULTS_IN_WORDS: Final[dict[str, str]] = {
    "failed": "It failed",
    "crashed": "Its process died",
    "out_of_memory": "It ran out of memory",
    "timed_out": "It was ended, since it took too long,",
    "lost": "Its machine was lost",
    "preempted": "Its machine was taken back",
}
"""Maps each fault to the beginning of the sentence on a trial that the fault ended."""


def trial_in_words(record: StudyRecord, trial: TrialRecord, *, runs: bool) -> Iterator[str]:
    """Yield sentences on what a trial is doing, or how it ended.

    ``runs``: whether a process is running the study, according to the ledger.
    """
    yield sentence(_standing(record, trial, runs=runs))
    if trial.measured_now and runs:
        yield "It is being measured on the test split."
    if trial.given_up is not None:
        yield sentence(f"It could not be measured on the test split: {trial.given_up}")
    if trial.note:
        yield sentence(f"Note: {trial.note}")


def _standing(record: StudyRecord, trial: TrialRecord, *, runs: bool) -> str:
    done, resource = trained_in_words(trial), record.study.search.resource
    if trial.reused is not None:
        source = trial.reused
        where = f" of {source.study}" if source.study else ""
        return (
            f"It was not trained: its config and seeds are those of trial {source.source}{where}, whose results it has"
        )
    match trial.state:
        case "running" if not runs:
            return f"Its study was interrupted when it had trained {done}; once resumed, it goes on from there"
        case "running" if trial.waits:
            return f"It waits for a worker, with {done} trained"
        case "running":
            return f"It is being trained: {done} are done"
        case "paused":
            goes_on = "it goes on once it is among the best there"
            return f"It is paused after {done}{_at_rung(trial, resource)}; {goes_on}"
        case "completed":
            return f"It returned after {done}" if trial.returned_early else f"It was trained to its end, {done}"
        case "diverged":
            return f"It diverged: after {done} its score was no finite number"
        case "stopped":
            return _stopped(record, trial, done, resource)
        case _:
            return f"{FAULTS_IN_WORDS[trial.state]} after {done}{f': {trial.message}' if trial.message else ''}"


def _stopped(record: StudyRecord, trial: TrialRecord, done: str, resource: Resource) -> str:
    if trial.message:
        return f"It was stopped after {done}: {trial.message}"
    last = trial.decisions[-1] if trial.decisions else None
    if last is None or last.decision != "stop":
        return f"It was ended after {done}{_at_rung(trial, resource)}, where it was paused: nothing promoted it"
    stopped = f"It was stopped after {done}{_at_rung(trial, resource)}: others had better scores there"
    return f"{stopped}{_better_before(record, trial)}"


def _better_before(record: StudyRecord, trial: TrialRecord) -> str:
    """The clause on a trial whose last epoch is not its best; empty for any other trial."""
    best, last = trial.best, trial.reports[-1]
    if best is None or trial.raced or last.epoch == best.epoch:
        return ""
    now, then = (record.measure.written(each.score) for each in (last, best))
    return f"; it had {now} there, and its best epoch, {best.epoch}, counts, with {then}"


def _at_rung(trial: TrialRecord, resource: Resource) -> str:
    rung = trial.decisions[-1].rung if trial.decisions else None
    return "" if rung is None else f", at the rung of {counted_rung(rung, resource)}"


def trained_in_words(trial: TrialRecord) -> str:
    """The completed training of a trial, such as ``3 of 12 epochs``. If seeds race (are trained in groups), it is, once
    the first group has all its epochs, ``12 epochs of each of 2 seeds``.
    """
    whole = trial.config.epochs
    if trial.raced and len(trial.reports) >= whole:
        return f"{counted(whole, 'epoch')} of each of {trial.replicates.counted(len(trial.seeds))}"
    return (
        f"{len(trial.reports)} of {counted(whole, 'epoch')}" if len(trial.reports) < whole else counted(whole, "epoch")
    )
