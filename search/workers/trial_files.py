"""The files of one trial, written by one worker at a time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError
from skipstack.models.training.checkpoint import Tensors, read_tensors, write_tensors
from skipstack.search.driver.faults import full_disk_interrupts

ATTEMPT: Final = "attempt"
"""The file that says which attempt at the trial writes here."""


class SupersededError(Exception):
    """A later attempt at the trial has begun elsewhere: what this one trains is no longer wanted."""


class TrialFiles:
    """A trial's folder, as one ``attempt`` at the trial sees it.

    A machine that was cut off from the cluster trains on while the trial is tried again elsewhere. Its attempt has a
    lower number, and writes nothing any more: else the best weights could be replaced by those of an earlier epoch.
    """

    def __init__(self, folder: Path, attempt: int) -> None:
        self.folder = folder
        self.attempt = attempt
        self._begun = False

    def read(self, name: str) -> tuple[Tensors, dict[str, Any]] | None:
        """The tensors and the notes of a file; None where there is none, or, as after a power cut, not a whole one."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            return read_tensors(path)
        except UserError:
            return None

    def write(self, name: str, tensors: Tensors, notes: Mapping[str, Any]) -> None:
        """Write a file, or leave it as it was.

        Raises OutOfSpaceError where the disk is full, and SupersededError where a later attempt has begun.
        """
        with full_disk_interrupts(self.folder / name):
            self._begin()
            write_tensors(self.folder / name, tensors, notes)

    def _begin(self) -> None:
        """Say that this attempt writes, and clear away what a killed one was writing."""
        latest = self._latest()
        if latest > self.attempt:
            raise SupersededError(f"attempt {self.attempt} was given up, {latest} has begun")
        if self._begun:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for torn in self.folder.glob(".*.safetensors.*"):
            torn.unlink(missing_ok=True)
        (self.folder / ATTEMPT).write_text(f"{self.attempt}\n")
        self._begun = True

    def _latest(self) -> int:
        try:
            return int((self.folder / ATTEMPT).read_text())
        except (FileNotFoundError, ValueError):
            return 0
