"""Attempts at a trial: the folder that they write holds the number of the latest one, and earlier ones are refused."""

from pathlib import Path
from typing import Final

from skipstack.data.basis.atomic_files import write_atomically

ATTEMPT: Final = "attempt"
"""The file with the number of the attempt that writes here."""


class SupersededError(Exception):
    """A later attempt at the trial has started elsewhere: the results of this one are dropped."""


def check_latest(folder: Path, attempt: int) -> None:
    """Raises SupersededError if a later attempt than ``attempt`` has claimed ``folder``."""
    latest = _latest(folder)
    if latest > attempt:
        raise SupersededError(f"attempt {attempt} was given up, {latest} has begun")


def claim(folder: Path, attempt: int) -> None:
    """Claim ``folder``, which exists, for ``attempt``."""
    for torn in folder.glob(f".{ATTEMPT}.*"):
        torn.unlink(missing_ok=True)
    write_atomically(folder / ATTEMPT, f"{attempt}\n".encode())  # half a number is another one


def _latest(folder: Path) -> int:
    try:
        return int((folder / ATTEMPT).read_text())
    except (FileNotFoundError, ValueError):
        return 0
