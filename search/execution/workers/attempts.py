"""Numbers the attempts at a trial, so that an earlier attempt cannot overwrite the files of a later one."""

from pathlib import Path
from typing import Final

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.search.study.record.folder import make_trial_folder

ATTEMPT: Final = "attempt"
"""Name of the file with the number of the attempt that writes in a folder."""


class SupersededError(Exception):
    """A later attempt at the trial has started elsewhere, so the results of this attempt are dropped."""


class Claim:
    """The right of an ``attempt`` at a trial to write into ``folder``. It ends once a later attempt has claimed it.
    ``torn``: patterns of the incomplete files that a killed attempt may have left in the folder.
    """

    def __init__(self, folder: Path, attempt: int, *torn: str) -> None:
        self._folder = folder
        self._attempt = attempt
        self._torn = torn
        self._is_made = False

    def make(self) -> bool:
        """Create and claim the folder, and delete incomplete files in it. Later calls only check the claim, and return
        False. Raises SupersededError if a later attempt has begun.
        """
        check_latest(self._folder, self._attempt)
        if self._is_made:
            return False
        make_trial_folder(self._folder)
        claim(self._folder, self._attempt, *self._torn)
        self._is_made = True
        return True


def check_latest(folder: Path, attempt: int) -> None:
    """Raise SupersededError if a later attempt than ``attempt`` has claimed ``folder``."""
    latest = _latest(folder)
    if latest > attempt:
        raise SupersededError(f"attempt {attempt} was given up, {latest} has begun")


def claim(folder: Path, attempt: int, *torn: str) -> None:
    """Write ``attempt`` as the number of the latest attempt into ``folder``, which must exist. Before, delete the
    incomplete files whose names match one of the patterns ``torn``.
    """
    for pattern in (*torn, f".{ATTEMPT}.*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    write_atomically(folder / ATTEMPT, f"{attempt}\n".encode())  # a truncated number would be another number


def _latest(folder: Path) -> int:
    try:
        return int((folder / ATTEMPT).read_text())
    except (FileNotFoundError, ValueError):
        return 0
