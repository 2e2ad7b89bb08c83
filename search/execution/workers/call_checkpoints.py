"""Stores the checkpoints of one call of a user's function, from which another process can continue the call.

A checkpoint is a folder such as ``checkpoints/seed-0/00000003-0001-000001/`` in the folder of the trial. The name
consists of the epoch, the attempt, and the number of the checkpoint in that attempt. The folder holds a complete copy
of the file, folder or bytes that the function saved (``search/study/record/whole_copies.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skipstack.search.execution.driver.faults import own_file_interrupts
from skipstack.search.execution.workers.attempts import Claim
from skipstack.search.study.record.folder import CALL_CHECKPOINTS
from skipstack.search.study.record.whole_copies import CONTENT, copied, declare_whole, folder_of, keep_only, whole_in


@dataclass(frozen=True, slots=True)
class CallCheckpoint:
    """A complete checkpoint of a call at the end of ``epoch``. ``folder``: its folder. ``name``: the name of the saved
    file or folder in it. ``files``: the sizes of the saved files in bytes. ``chance``: the states of the global random
    generators. ``report``: the named arguments of the epoch's report; None if the epoch has no report yet.
    """

    folder: Path
    epoch: int
    name: str
    files: Mapping[str, int]
    chance: Mapping[str, Any]
    report: Mapping[str, float] | None

    @property
    def path(self) -> Path:
        """The copy of the file or folder that the function saved."""
        return self.folder / CONTENT / self.name

    def write(self) -> None:
        """Write the file that describes the checkpoint and marks it as complete."""
        declare_whole(
            self.folder, {name: getattr(self, name) for name in ("epoch", "name", "files", "chance", "report")}
        )


class CallCheckpoints:
    """Stores the checkpoints of one call of a user's function. At most two are kept: the latest checkpoint, and the
    latest one of an epoch in the ledger, which may be the same.

    ``trial``: the trial's folder. ``call``: the relative path of the call's folder, such as ``seed-0``. ``attempt``:
    the number of the attempt at the trial. ``reported``: the number of epochs in the ledger.
    """

    def __init__(self, trial: Path, call: Path, *, attempt: int, reported: int) -> None:
        self._claim = Claim(trial, attempt)
        self._folder = trial / CALL_CHECKPOINTS / call
        self._attempt = attempt
        self._counted = reported
        self._written = 0
        self._awaits_report: CallCheckpoint | None = None

    def latest(self) -> CallCheckpoint | None:
        """Return the latest checkpoint of an epoch in the ledger, or None, and delete all other checkpoints."""
        with own_file_interrupts(self._folder):
            self._claim.make()
            counted = [each for each in self._whole() if each.epoch <= self._counted]
            self._keep(counted[-1:])
        return counted[-1] if counted else None

    def write(
        self, given: Path | bytes, epoch: int, *, chance: Mapping[str, Any], report: Mapping[str, float] | None
    ) -> None:
        """Store a copy of ``given`` as a checkpoint of ``epoch``. ``chance`` and ``report``: see ``CallCheckpoint``.
        After an error, earlier checkpoints are unchanged. Raises the errors of ``TrialFiles.write``.
        """
        with own_file_interrupts(self._folder):
            self._claim.make()
            self._written += 1
            folder = folder_of(self._folder, epoch, self._attempt, self._written)
            written = CallCheckpoint(folder, epoch, *copied(given, folder), chance, report)
            written.write()
            self._awaits_report = written if report is None and epoch else None
            self._settle()

    def reports(self, epoch: int, report: Mapping[str, float]) -> None:
        """Store ``report`` in the checkpoint of this epoch, if there is one without a report. Call this before the
        report is handed over.
        """
        awaits, self._awaits_report = self._awaits_report, None
        if awaits is not None and awaits.epoch == epoch:
            with own_file_interrupts(self._folder):
                replace(awaits, report=report).write()

    def reported(self, epoch: int) -> None:
        """Note that the ledger has an epoch, and delete checkpoints that are no longer needed."""
        if epoch > self._counted:
            self._counted = epoch
            if self._written:
                with own_file_interrupts(self._folder):
                    self._settle()

    def _settle(self) -> None:
        """Delete all checkpoints but two: the latest, and the latest of an epoch in the ledger."""
        whole = self._whole()
        counted = [each for each in whole if each.epoch <= self._counted]
        self._keep([*counted[-1:], *whole[-1:]])

    def _keep(self, kept: list[CallCheckpoint]) -> None:
        keep_only(self._folder, (each.folder for each in kept))

    def _whole(self) -> list[CallCheckpoint]:
        """The complete checkpoints of the call, the latest last."""
        return whole_in(self._folder, CallCheckpoint)
