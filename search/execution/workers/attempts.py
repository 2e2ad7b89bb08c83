"""Numbers the attempts at a trial, so that an earlier attempt cannot overwrite the files of a later one."""

from pathlib import Path
from typing import Final

from skipstack.data.basis.atomic_files import write_atomically

ATTEMPT: Final = "attempt"
"""Name of the file with the number of the attempt that writes in a folder."""


class SupersededError(Exception):
    """A later attempt at the trial has started elsewhere, so the results of this attempt are dropped."""


def check_latest(folder: Path, attempt: int) -> None:
    """Raise SupersededError if a later attempt than ``attempt`` has claimed ``folder``."""
    latest = _latest(folder)
    if latest > attempt:
        raise SupersededError(f"attempt {attempt} was given up, {latest} has begun")


def claim(folder: Path, attempt: int) -> None:
    """Write ``attempt`` as the number of the latest attempt into ``folder``, which must exist."""
    for torn in folder.glob(f".{ATTEMPT}.*"):
        torn.unlink(missing_ok=True)
    write_atomically(folder / ATTEMPT, f"{attempt}\n".encode())  # a truncated number would be another number


def _latest(folder: Path) -> int:
    try:
        return int((folder / ATTEMPT).read_text())
    except (FileNotFoundError, ValueError):
        return 0
