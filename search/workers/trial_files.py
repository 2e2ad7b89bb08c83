"""The files of one trial, written by one worker at a time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.models.training.checkpoint import Tensors, read_tensors, write_tensors
from skipstack.search.driver.faults import own_file_interrupts
from skipstack.search.record.folder import make_trial_folder

ATTEMPT: Final = "attempt"
"""The file with the number of the attempt that writes here."""


class SupersededError(Exception):
    """A later attempt at the trial has started elsewhere: the results of this one are dropped."""


class TrialFiles:
    """The folder of a trial, for one ``attempt`` at it.

    A machine that lost its connection to the cluster trains on while the trial is retried elsewhere. Its attempt has a
    lower number and may not write any more: else it could replace the best weights by those of an earlier epoch.
    """

    def __init__(self, folder: Path, attempt: int) -> None:
        self.folder = folder
        self.attempt = attempt
        self._begun = False

    def read(self, name: str) -> tuple[Tensors, dict[str, Any]] | None:
        """The tensors and the notes of a file; None if it is missing or, as after a power cut, damaged."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            return read_tensors(path)
        except UserError:
            return None

    def write(self, name: str, tensors: Tensors, notes: Mapping[str, Any]) -> None:
        """Write a file; on an error it is as before.

        Raises OutOfSpaceError if the disk is full, DiskLostError if it cannot be written for another reason, and
        SupersededError if a later attempt has started.
        """
        with own_file_interrupts(self.folder / name):
            self._begin()
            write_tensors(self.folder / name, tensors, notes)

    def _begin(self) -> None:
        """Claim the folder for this attempt, and delete half-written files of a killed one."""
        latest = self._latest()
        if latest > self.attempt:
            raise SupersededError(f"attempt {self.attempt} was given up, {latest} has begun")
        if self._begun:
            return
        make_trial_folder(self.folder)
        for torn in (*self.folder.glob(".*.safetensors.*"), *self.folder.glob(f".{ATTEMPT}.*")):
            torn.unlink(missing_ok=True)
        write_atomically(self.folder / ATTEMPT, f"{self.attempt}\n".encode())  # half a number is another one
        self._begun = True

    def _latest(self) -> int:
        try:
            return int((self.folder / ATTEMPT).read_text())
        except (FileNotFoundError, ValueError):
            return 0
