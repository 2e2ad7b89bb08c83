"""Deletes weights, and models reported by users' functions, that a running study does not need to keep."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path

from skipstack.search.ledger.events import (
    Decided,
    Ended,
    Event,
    Finished,
    Promoted,
    Proposed,
    Reported,
    Tested,
    Untested,
)
from skipstack.search.study.record.call_models import models_of
from skipstack.search.study.record.folder import BEST, LOG, MODELS, StudyFolder, delete_checkpoints
from skipstack.search.study.record.selection import selected
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.record.whole_copies import keep_only

EASE = 0.1
"""Slack of a clean-up, as a fraction. Between two clean-ups, the number of trials with weights may grow by this
fraction. A clean-up for the disk budget continues until this fraction of the budget is free.
"""


def delete_all_but_logs(folder: StudyFolder) -> None:
    """Delete all files of all trials, except logs with content, and all files beside the trials. Ignores disk errors: a
    folder that cannot be deleted is left, and any other error ends the clean-up.
    """
    with suppress(OSError):
        for trial in sorted(folder.trials.iterdir()):
            if not trial.is_dir():  # such as the mark of a study on a cluster
                trial.unlink()
                continue
            for path in trial.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name != LOG or not path.stat().st_size:
                    path.unlink()
            with suppress(OSError):  # the folder still holds a log
                trial.rmdir()
        folder.trials.rmdir()


class Retention:
    """A reader of events that deletes weights. It keeps the weights of the best ``search.keep_checkpoints`` trials, as
    far as ``search.disk_budget`` allows. In a study of a function, the weights are the models that the function
    reported.

    Always kept, even beyond the budget: the files of running and paused trials, and the weights of the best trial and
    of trials that may still be measured on the test split. Always deleted: the checkpoints of ended trials, and the
    weights of ended trials without a score. ``record`` returns the driver's current record.
    """

    def __init__(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:
        self._folder = folder
        self._record = record
        self._kept: dict[int, int] = {}
        """Bytes of the weights of each ended trial that has weights."""
        self._running: set[int] = set()
        """Trials that may be writing files now."""
        self._paused: dict[int, int] = {}
        """Bytes of the weights of each paused trial; 0 without a disk budget."""
        self._has_looked = False
        """Whether the folders of trials were scanned."""
        self._due = 0
        self._exceeded = 0

    def __call__(self, event: Event) -> None:
        """Delete the weights that are not needed after ``event``, which is already in the ledger."""
        if not self._has_looked:
            self._look()
        match event:
            case Proposed(trial=number) | Promoted(trial=number):
                self._leave(number)
                self._running.add(number)
            case Decided(trial=number, decision="pause"):
                self._leave(number)
                self._pause(number)
            case Ended(trial=number):
                self._leave(number)
                self._settle(number)
                self._collect(final=False)
            case Tested(trial=number) | Untested(trial=number):
                self._settle(number)  # the trial may have been trained again
                self._collect(final=False)
            case Reported(epoch=1):
                self._collect(final=False)
            case Finished():
                self._collect(final=True)
            case _:
                pass

    def arrived(self, number: int) -> None:
        """Update the sizes and delete surplus files of an ended or paused trial whose last files have arrived."""
        if not self._has_looked:
            return
        if self._record().trials[number].reason is not None:
            self._settle(number)
            self._collect(final=False)
        elif number in self._paused:
            self._pause(number)

    def close(self) -> str | None:
        """Return a line for the user if the weights that had to be kept exceeded the disk budget; otherwise None."""
        if not self._exceeded:
            return None
        budget = self._record().study.search.disk_budget
        return f"search.disk_budget: {budget:,} bytes; the weights that are needed took up to {self._exceeded:,}"

    def _look(self) -> None:
        """Scan the folders of all trials. Finish the deletions of a killed driver."""
        for trial in self._record().trials.values():
            if trial.reason is not None:
                self._settle(trial.number)
            elif trial.paused:
                self._pause(trial.number)
            else:
                self._running.add(trial.number)
        self._has_looked = True

    def _leave(self, number: int) -> None:
        """Forget that a trial was running or paused."""
        self._running.discard(number)
        self._paused.pop(number, None)

    def _pause(self, number: int) -> None:
        limited = self._record().study.search.disk_budget is not None
        self._paused[number] = self._bytes(number) if limited else 0

    def _settle(self, number: int) -> None:
        """Delete the checkpoints of an ended trial, and its weights if it has no score. Otherwise note the size of its
        weights.
        """
        folder = self._folder.trial(number)
        delete_checkpoints(folder)
        trial = self._record().trials[number]
        if trial.score is None:
            _delete_weights(folder)
        elif (size := _settled(trial, folder)) is not None:
            self._kept[number] = size

    def _collect(self, *, final: bool) -> None:
        """Delete surplus weights, from the worst trial upwards. ``final``: whether the study has finished. Ranking the
        trials takes time, so nothing is done until a limit is exceeded. The number of trials may exceed its limit by
        the fraction ``EASE`` before the study has finished.
        """
        search, kept = self._record().study.search, self._kept
        held = 0 if search.disk_budget is None else self._unended_bytes() + sum(kept.values())
        over = search.disk_budget is not None and held > search.disk_budget
        many = search.keep_checkpoints is not None and len(kept) > max(search.keep_checkpoints, self._due)
        if not over and not many and not (final and search.keep_checkpoints is not None):
            return
        needed = self._needed(final=final)
        trials = self._record().trials
        ranked = sorted(kept, key=lambda number: trials[number].rank_key)  # ``kept`` has only trials with a score
        for place in reversed(range(len(ranked))):  # the worst first
            surplus = search.keep_checkpoints is not None and place >= search.keep_checkpoints
            full = over and held > (1 - EASE) * (search.disk_budget or 0)
            if (surplus or full) and ranked[place] not in needed:
                _delete_weights(self._folder.trial(ranked[place]))
                held -= kept.pop(ranked[place])
        self._due = len(kept) + int(EASE * len(kept))
        if search.disk_budget is not None and held > search.disk_budget:
            self._exceeded = max(self._exceeded, held)

    def _needed(self, *, final: bool) -> set[int]:
        """Return the ended trials whose weights must be kept. These are the best trial and, unless ``final``, the
        trials still to be measured on the test split. Running trials are not compared, since they may lose their score
        by a fault. Weights that are not needed now are not needed later.
        """
        record = self._record()
        ended = copy(record)
        ended.trials = {trial.number: trial for trial in record.trials.values() if trial.reason is not None}
        best = {trial.number for trial in ended.ranked()[:1]}
        return best if final else best | {number for number in selected(ended) if not ended.trials[number].tested}

    def _unended_bytes(self) -> int:
        """Bytes of the weights of running and paused trials. The files of running trials are measured at each call."""
        return sum(self._paused.values()) + sum(map(self._bytes, self._running))

    def _bytes(self, number: int) -> int:
        folder = self._folder.trial(number)
        if self._record().study.space.base.keeps_weights:
            return _bytes_of(folder, ".safetensors")
        return _bytes_of(folder / MODELS)


def _settled(trial: TrialRecord, folder: Path) -> int | None:
    """Return the bytes of an ended trial's weights; None if it has none. Of a function's models, delete all but the
    best of each call.
    """
    if (path := folder / BEST).exists():
        return path.stat().st_size
    if not (folder / MODELS).exists():
        return None
    best = models_of(trial, folder)
    for call in trial.seeds:
        keep_only(folder / MODELS / trial.replicates.folder(call), [best[call].folder] if call in best else [])
    return _bytes_of(folder / MODELS)


def _bytes_of(folder: Path, ending: str = "") -> int:
    """Bytes of the files below a folder whose names end in ``ending``. Files and folders that a trial's process deletes
    meanwhile are skipped.
    """
    size = 0
    for parent, _, names in os.walk(folder):  # unlike ``rglob``, it skips a folder that vanishes
        for name in names:
            if name.endswith(ending):
                with suppress(FileNotFoundError):
                    size += Path(parent, name).stat().st_size
    return size


def _delete_weights(folder: Path) -> None:
    (folder / BEST).unlink(missing_ok=True)
    shutil.rmtree(folder / MODELS, ignore_errors=True)
