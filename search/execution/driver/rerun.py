"""Trains one trial again from its config and seeds, and compares every number with the recorded one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.saying import Say
from skipstack.search.ledger.events import Reported
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import EpochResult, Worker, Workers, trial_task


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The first difference between a rerun and the record. ``name``: what differs, such as the score, or the outcome if
    the rerun fails. ``recorded`` and ``now``: the recorded and the new value, as text.
    """

    epoch: int
    name: str
    recorded: str
    now: str


def trial_of(record: StudyRecord, number: int) -> TrialRecord:
    """Return trial ``number``. Raises UserError if it does not exist or reported no epoch."""
    if number not in record.trials:
        raise UserError(f"trial {number} is not in this study (allowed: 0 to {len(record.trials) - 1})")
    trial = record.trials[number]
    if not trial.reports:
        raise UserError(f"trial {number} reported no epoch (allowed: a trial with a curve to compare with)")
    return trial


def rerun(
    record: StudyRecord,
    folder: StudyFolder,
    number: int,
    worker: Workers,
    *,
    scratch: Path,
    device: str,
    tell: Say,
) -> Difference | None:
    """Train all reported epochs of trial ``number`` again, with weights in the folder ``scratch``. Return the first
    difference from the recorded scores and metrics; None if all are the same, bit for bit. Seconds are not compared.
    ``tell`` receives a line for each equal epoch. Raises the errors of ``trial_of``.
    """
    trial, done = trial_of(record, number), 0
    task = trial_task(record, folder, trial.config, number=number, seeds=trial.seeds, device=device)
    for seeds, group in trial.groups.items():
        beside = replace(task, seeds=seeds, folder=scratch / f"from-{seeds[0]}", time_left=None)
        again: Worker | None = None
        for recorded in group:
            try:
                again = again or worker(beside)
                result = again.run_epoch()
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 (a trial that fails now differs from one that did not)
                return Difference(epoch=recorded.epoch, name="outcome", recorded="a report", now=one_line(error))
            if result is None:
                return Difference(epoch=recorded.epoch, name="outcome", recorded="a report", now="no further epoch")
            difference = next(_differences(seeds, recorded, result), None)
            if difference is not None:
                return difference
            done += 1
            tell(f"epoch {done} of {len(trial.reports)}: equal")
    return None


def _differences(seeds: Sequence[int], recorded: Reported, now: EpochResult) -> Iterator[Difference]:
    def differ(name: str, before: object, after: object) -> Difference:
        return Difference(epoch=recorded.epoch, name=name, recorded=str(before), now=str(after))

    if recorded.metrics.keys() != now.metrics.keys():
        yield differ("metrics", ", ".join(recorded.metrics), ", ".join(now.metrics))
    for name, lanes in recorded.metrics.items():
        for seed, before, after in zip(seeds, lanes, now.metrics[name], strict=True):
            if not _same(before, after):
                yield differ(f"{name} of seed {seed}", before, after)
    if not _same(recorded.score, now.score):
        yield differ("score", recorded.score, now.score)


def _same(one: float, other: float) -> bool:
    """Whether two numbers are the same bit for bit; all NaNs are equal."""
    return repr(float(one)) == repr(float(other))
