"""The checkpoints of one call of a user's function: the state from which it continues in another process.

In the folder of a trial: ``checkpoints/seed-0/00000003-0001-000001/``, by epoch, attempt, and number of the attempt's
checkpoints; each holds a whole copy of what the function gave (``search/study/record/whole_copies.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skipstack.search.execution.driver.faults import own_file_interrupts
from skipstack.search.execution.workers.attempts import check_latest, claim
from skipstack.search.study.record.folder import CALL_CHECKPOINTS, make_trial_folder
from skipstack.search.study.record.whole_copies import CONTENT, copied, declare_whole, folder_of, keep_only, whole_in


@dataclass(frozen=True, slots=True)
class CallCheckpoint:
    """A complete checkpoint of the end of ``epoch``. ``chance``: the states of the global random generators;
    ``report``: the named arguments of that epoch's report, None while it is not made, or if there was none.
    """

    folder: Path
    epoch: int
    name: str
    files: Mapping[str, int]
    chance: Mapping[str, Any]
    report: Mapping[str, float] | None

    @property
    def path(self) -> Path:
        """The file or the folder that the function gave."""
        return self.folder / CONTENT / self.name

    def write(self) -> None:
        """Declare the checkpoint complete, with all that it has here."""
        declare_whole(
            self.folder, {name: getattr(self, name) for name in ("epoch", "name", "files", "chance", "report")}
        )


class CallCheckpoints:
    """Stores the checkpoints of the ``call``, a folder in that of the trial, for one ``attempt`` at a trial of which
    the ledger has ``reported`` epochs.

    Only the latest stays. A checkpoint of an epoch that is not reported yet counts once the ledger has that report;
    until then the one before it stays, too.
    """

    def __init__(self, trial: Path, call: Path, *, attempt: int, reported: int) -> None:
        self._trial = trial
        self._folder = trial / CALL_CHECKPOINTS / call
        self._attempt = attempt
        self._counted = reported
        self._written = 0
        self._claimed = False
        self._awaits_report: CallCheckpoint | None = None

    def latest(self) -> CallCheckpoint | None:
        """The checkpoint to continue from; all others are deleted."""
        with own_file_interrupts(self._folder):
            self._claim()
            counted = [each for each in self._whole() if each.epoch <= self._counted]
            self._keep(counted[-1:])
        return counted[-1] if counted else None

    def write(
        self, given: Path | bytes, epoch: int, *, chance: Mapping[str, Any], report: Mapping[str, float] | None
    ) -> None:
        """Store a copy. On an error, earlier checkpoints are as they were. Raises as ``TrialFiles.write`` does."""
        with own_file_interrupts(self._folder):
            self._claim()
            self._written += 1
            folder = folder_of(self._folder, epoch, self._attempt, self._written)
            written = CallCheckpoint(folder, epoch, *copied(given, folder), chance, report)
            written.write()
            self._awaits_report = written if report is None and epoch else None
            self._settle()

    def reports(self, epoch: int, report: Mapping[str, float]) -> None:
        """Add the report of an epoch that is about to be reported to a checkpoint of it."""
        awaits, self._awaits_report = self._awaits_report, None
        if awaits is not None and awaits.epoch == epoch:
            with own_file_interrupts(self._folder):
                replace(awaits, report=report).write()

    def reported(self, epoch: int) -> None:
        """Note that the ledger has an epoch."""
        if epoch > self._counted:
            self._counted = epoch
            if self._written:
                with own_file_interrupts(self._folder):
                    self._settle()

    def _settle(self) -> None:
        """Keep only the latest checkpoint, and the latest that counts."""
        whole = self._whole()
        counted = [each for each in whole if each.epoch <= self._counted]
        self._keep([*counted[-1:], *whole[-1:]])

    def _keep(self, kept: list[CallCheckpoint]) -> None:
        keep_only(self._folder, (each.folder for each in kept))

    def _whole(self) -> list[CallCheckpoint]:
        """The complete checkpoints, the latest last."""
        return whole_in(self._folder, CallCheckpoint)

    def _claim(self) -> None:
        """Claim the trial's folder. Raises SupersededError if a later attempt at the trial has begun."""
        check_latest(self._trial, self._attempt)
        if not self._claimed:
            make_trial_folder(self._trial)
            claim(self._trial, self._attempt)
            self._claimed = True
