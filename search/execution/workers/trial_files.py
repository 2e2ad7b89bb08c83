"""Reads and writes the files of one trial, so that only the latest attempt at the trial can write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skipstack.data.basis.errors import UserError
from skipstack.models.training.checkpoint import Tensors, read_tensors, write_tensors
from skipstack.search.execution.driver.faults import own_file_interrupts
from skipstack.search.execution.workers.attempts import Claim


class TrialFiles:
    """Reads and writes the files in the folder of a trial, for one ``attempt`` at the trial.

    A machine that has lost its connection to the cluster continues to train while the trial is retried elsewhere. It
    could replace the best weights by weights of an earlier epoch. So an attempt may no longer write once an attempt
    with a higher number has started.
    """

    def __init__(self, folder: Path, attempt: int) -> None:
        self.folder = folder
        self._claim = Claim(folder, attempt, ".*.safetensors.*")

    def read(self, name: str) -> tuple[Tensors, dict[str, Any]] | None:
        """Return the tensors and the notes of a file; None if the file is missing or damaged, as after a power cut."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            return read_tensors(path)
        except UserError:
            return None

    def write(self, name: str, tensors: Tensors, notes: Mapping[str, Any]) -> None:
        """Write a file. After an error, the file is unchanged. Raises OutOfSpaceError if the disk is full,
        DiskLostError for another disk error, and SupersededError if a later attempt at the trial has started.
        """
        with own_file_interrupts(self.folder / name):
            self._claim.make()
            write_tensors(self.folder / name, tensors, notes)
