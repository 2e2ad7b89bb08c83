"""Measures a selected trial on the test split, in any process, and classifies failures."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from skipstack.data.basis.disk_errors import tried_again
from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.attempt import Attempt
from skipstack.search.execution.driver.faults import Fault, fault_of, lost_disk_interrupts
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import Measured, TrialTask, Workers, task_of


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement of ``task`` on the test split. ``training``: tasks that first train the trial again; empty unless
    its weights are lost.
    """

    task: TrialTask
    training: tuple[TrialTask, ...] = ()


def measurement(record: StudyRecord, folder: StudyFolder, number: int, *, device: str) -> Measurement:
    """Return the measurement of trial ``number``. It trains the trial again if the last measurement failed because the
    weights were lost. Each measurement after a failed one counts as a further attempt at the trial.
    """
    trial = record.trials[number]
    attempt = trial.starts + len(trial.untested)  # the worker of an earlier attempt may have been told to part
    task = replace(task_of(record, folder, number, device=device), best=trial.weights_epoch, attempt=attempt)
    lost = bool(trial.untested) and trial.untested[-1].then == "train"
    return Measurement(task, tuple(_training(task, trial)) if lost else ())


def measured(worker: Workers, measurement: Measurement) -> Measured | Fault:
    """Measure the trial's best weights on the test split. If the weights are lost, train the trial again first. Return
    a fault if this trial fails. Raises UserError for a failure that would affect every trial, such as a full disk.
    """
    try:
        for task in measurement.training:
            with closing(Attempt(worker, task)) as attempt:
                attempt.run_epoch()
        with lost_disk_interrupts(f"trial {measurement.task.number} on test"):
            return tried_again(lambda: worker.test(measurement.task))
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 (any other error concerns this trial, not the study)
        return fault_of(error)


def _training(task: TrialTask, trial: TrialRecord) -> Iterator[TrialTask]:
    """Yield a task for each group of seeds that counts in the trial's score, for the group's last epoch. The task's
    worker also trains the earlier epochs.
    """
    earlier: tuple[int, ...] = ()
    for seeds, group in trial.groups.items():
        if set(seeds) <= set(trial.seeds):
            yield replace(task, seeds=seeds, earlier=earlier, reported=len(group) - 1, time_left=None)
        earlier += seeds
