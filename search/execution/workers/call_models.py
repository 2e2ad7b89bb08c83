"""Keeps the best model that one call of a user's function reports."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Self

from skipstack.search.execution.driver.faults import own_file_interrupts
from skipstack.search.execution.workers.attempts import Claim
from skipstack.search.study.record.call_models import models_in
from skipstack.search.study.record.folder import MODELS
from skipstack.search.study.record.whole_copies import copied, declare_whole, folder_of, keep_only, remove
from skipstack.search.study.task import TrialTask


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A copy of a model whose epoch has no score yet. ``files``: the sizes of the copy's files in bytes."""

    folder: Path
    epoch: int
    name: str
    files: dict[str, int]


class CallModels:
    """Stores the models that one call of a user's function reports, and keeps the model of the best epoch.

    ``trial``: the trial's folder. ``call``: the relative path of the call's folder, such as ``seed-0``. ``attempt``:
    the number of the attempt at the trial. ``scores``: the trial's scores at the epochs in the ledger.

    A model waits until the trial's score at its epoch, the mean over all calls, is known. If the score is the best so
    far, the model is kept. The former model is deleted once the ledger has the new model's epoch.
    """

    def __init__(self, trial: Path, call: Path, *, attempt: int, scores: Sequence[float]) -> None:
        self._claim = Claim(trial, attempt)
        self._folder = trial / MODELS / call
        self._attempt = attempt
        self._scores = scores
        self._counted = len(scores)
        self._written = 0
        self._waiting: _Waiting | None = None

    @classmethod
    def of(cls, task: TrialTask, number: int) -> Self:
        """Create the store for the models of call ``number`` of a task."""
        return cls(task.folder, task.replicates.folder(number), attempt=task.attempt, scores=task.scores)

    def write(self, given: Path, epoch: int) -> None:
        """Store a copy of ``given`` as the model of the epoch to be reported. Raises the errors of
        ``TrialFiles.write``.
        """
        with own_file_interrupts(self._folder):
            if self._claim.make():
                self._keep_best()
            if self._waiting is not None:
                remove(self._waiting.folder)
            self._written += 1
            folder = folder_of(self._folder, epoch, self._attempt, self._written)
            self._waiting = _Waiting(folder, epoch, *copied(given, folder))
        if epoch <= len(self._scores):  # the epoch is repeated after a restart
            self.scored(epoch, self._scores[epoch - 1])

    def scored(self, epoch: int, score: float) -> None:
        """If the waiting model is of this epoch, keep it if ``score`` is the best so far, and delete it if not. A score
        that is not finite is never the best. Call this before the score is written to the ledger.
        """
        if self._waiting is None or self._waiting.epoch != epoch:
            return
        waiting, self._waiting = self._waiting, None
        with own_file_interrupts(self._folder):
            best = next(iter(models_in(self._folder)), None)
            if isfinite(score) and (best is None or (-score, epoch) <= (-best.score, best.epoch)):
                notes = {"epoch": epoch, "score": score, "name": waiting.name, "files": waiting.files}
                declare_whole(waiting.folder, {**notes, "versions": loaded_versions()})
            else:
                remove(waiting.folder)

    def reported(self, epoch: int) -> None:
        """Note that the ledger has an epoch, and delete models that are no longer the best."""
        self._counted = max(self._counted, epoch)
        if self._written and self._waiting is None:
            with own_file_interrupts(self._folder):
                self._keep_best()

    def _keep_best(self) -> None:
        """Delete all models but the best of the epochs in the ledger. Killed processes may have left later models."""
        counted = [each.folder for each in models_in(self._folder) if each.epoch <= self._counted]
        keep_only(self._folder, counted[:1])


def loaded_versions() -> dict[str, str]:
    """The versions of Python and of each imported package that states its version."""
    found = {"python": sys.version.split()[0]}
    for name, module in sorted(sys.modules.items()):
        version = getattr(module, "__dict__", {}).get("__version__")
        if "." not in name and name not in sys.stdlib_module_names and isinstance(version, str):
            found[name] = version
    return found
