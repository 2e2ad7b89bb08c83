"""Recognises errors of a full or failing disk by their numbers or, if a library hides these, by their messages.

An error that would happen on any disk does not count, such as a missing file, a missing permission, or a limit on the
size of files (``EFBIG``).
"""

import errno
import re
import sqlite3
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Final, TypeVar

from skipstack.data.basis.errors import one_line
from skipstack.data.basis.origins import origins
from skipstack.data.basis.redaction import redacted

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The error numbers of a full disk or an exhausted quota."""

FAILING: Final = frozenset(
    number
    for name in (
        "EIO",
        "EROFS",  # also a disk that the kernel has made read-only after errors
        "EUCLEAN",  # a damaged file system
        "ENODEV",  # this and the next two: a drive that was removed
        "ENXIO",
        "ENOMEDIUM",
        "ESTALE",  # this and the next two: errors of a file server
        "EREMOTEIO",
        "ENOTCONN",
    )
    if (number := getattr(errno, name, None)) is not None  # macOS lacks some
)
"""The error numbers of a disk that fails or is gone."""

SILENT: Final = frozenset({errno.ETIMEDOUT, errno.ESHUTDOWN, errno.EHOSTDOWN})
"""The error numbers of a server that does not answer. Such an error counts as a failing disk only if it names a file,
which shows that the server is a file server."""

PAUSES: Final = (1.0, 5.0)
"""The waiting times before the retries after an error of a failing disk, in seconds. A full disk is not retried."""

FULL_PHRASES: Final = ("no space left on device", "disk quota exceeded", "database or disk is full")

FAILING_PHRASES: Final = (
    "disk i/o error",  # sqlite
    "stale file handle",
    "transport endpoint is not connected",
    "input/output error",
    "iostream error",  # torch.save, which gives no error number if it opens the file itself
    "pytorchstreamwriter failed writing",
)
"""Phrases, in lower case, by which libraries report a failing disk without an error number."""

NUMBERED: Final = re.compile(r"(?:\berrno\s*[=:]?\s*|\bos error |\bOs \{ code: )(\d+)", re.IGNORECASE)
"""Matches an error number in the messages of Python, Arrow, HDF5 and Rust."""

SHORT: Final = re.compile(r"\d+ requested and \d+ written")
"""Matches the message of numpy when a disk takes only a part of an array."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class DiskTrouble:
    """A full or failing disk. ``full``: whether it is full. ``words``: the error and its origin, in one line."""

    full: bool
    words: str


def disk_trouble(error: BaseException) -> DiskTrouble | None:
    """Find the error of a full or failing disk: ``error`` or an error behind it. None if there is none."""
    for found in origins(error):
        kind = _kind(found)
        if kind is not None:
            said = one_line(found) if found is error else f"{one_line(error)}, from {one_line(found)}"
            return DiskTrouble(kind == "full", "; ".join((said, *_places(error, found))))
    return None


def tried_again(call: Callable[[], Value], *, pause: Callable[[float], None] = sleep) -> Value:
    """Return the value of ``call``. If it fails because of a failing disk, call it again after each of ``PAUSES``.

    ``pause``: a function that waits for a number of seconds. Raises the error of the last call. Errors of a full disk,
    and errors of any other kind, are raised at once.
    """
    for seconds in PAUSES:
        try:
            return call()
        except Exception as error:
            trouble = disk_trouble(error)
            if trouble is None or trouble.full:
                raise
        pause(seconds)
    return call()


def _kind(error: BaseException) -> str | None:
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno in SILENT:
            return None if error.filename is None else "failing"
        return _kind_of_number(error.errno)
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None:
            return {sqlite3.SQLITE_FULL: "full", sqlite3.SQLITE_IOERR: "failing"}.get(code & 0xFF)
    text = str(error)
    if (number := NUMBERED.search(text)) is not None:
        return _kind_of_number(int(number[1]))
    lower = text.lower()
    if any(phrase in lower for phrase in FULL_PHRASES):
        return "full"
    short = isinstance(error, OSError) and SHORT.fullmatch(text)
    return "failing" if short or any(phrase in lower for phrase in FAILING_PHRASES) else None


def _kind_of_number(number: int) -> str | None:
    return "full" if number in FULL else "failing" if number in FAILING else None


def _places(error: BaseException, found: BaseException) -> list[str]:
    """Say where ``error`` comes from, by its notes. If it has none, name the code line that raised ``found``.

    ``found``: the disk's error, which is ``error`` or an error behind it. If ``found`` names a path, no line is named.
    """
    if notes := getattr(error, "__notes__", ()):
        return [redacted(" ".join(note.split())) for note in notes]
    if getattr(found, "filename", None) is not None:
        return []
    frames = traceback.extract_tb(found.__traceback__)[-1:]
    return [f"at {Path(each.filename).name}:{each.lineno} in {each.name}" for each in frames]
