"""Errors of a full or a failing disk, recognised by their numbers and, where a library wraps them, by their words.

Not among them: a file that is missing, that may not be read or written, or that exceeds a limit of the process
(``EFBIG``). Such an error belongs to a path or to the process, and would happen again on any disk.
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
"""A full disk, or a used-up quota."""

FAILING: Final = frozenset(
    number
    for name in (
        "EIO",
        "EROFS",  # also a disk that the kernel has made read-only after errors
        "EUCLEAN",  # a damaged file system
        "ENODEV",  # these three: a drive that was taken away
        "ENXIO",
        "ENOMEDIUM",
        "ESTALE",  # these: a file server
        "EREMOTEIO",
        "ENOTCONN",
    )
    if (number := getattr(errno, name, None)) is not None  # macOS lacks some
)
"""A disk that fails, or is gone."""

SILENT: Final = frozenset({errno.ETIMEDOUT, errno.ESHUTDOWN, errno.EHOSTDOWN})
"""A file server that does not answer, where the error names a file; else some other server, which is no disk."""

PAUSES: Final = (1.0, 5.0)
"""Seconds to wait before each retry: a failing disk may answer again by then. A full one is not tried again."""

FULL_PHRASES: Final = ("no space left on device", "disk quota exceeded", "database or disk is full")

FAILING_PHRASES: Final = (
    "disk i/o error",  # sqlite
    "stale file handle",
    "transport endpoint is not connected",
    "input/output error",
    "iostream error",  # torch.save, to a file that it opens itself; it does not say why
    "pytorchstreamwriter failed writing",
)
"""Phrases, in lower case, by which libraries report such errors without a number."""

NUMBERED: Final = re.compile(r"(?:\berrno\s*[=:]?\s*|\bos error |\bOs \{ code: )(\d+)", re.IGNORECASE)
"""An error's number in the words of Python, Arrow, HDF5 and Rust."""

SHORT: Final = re.compile(r"\d+ requested and \d+ written")
"""The message of numpy when a disk takes only a part of an array."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class DiskTrouble:
    """A full or a failing disk, as one line with the error and the path or the place in the code that it comes from."""

    full: bool
    words: str


def disk_trouble(error: BaseException) -> DiskTrouble | None:
    """The trouble that ``error`` reports, itself or through the errors that it was raised from; None for any other."""
    for found in origins(error):
        kind = _kind(found)
        if kind is not None:
            said = one_line(found) if found is error else f"{one_line(error)}, from {one_line(found)}"
            return DiskTrouble(kind == "full", "; ".join((said, *_places(error, found))))
    return None


def tried_again(call: Callable[[], Value], *, pause: Callable[[float], None] = sleep) -> Value:
    """The value of ``call``, which is repeated after each of ``PAUSES`` where a disk fails.

    ``pause`` waits for a number of seconds. Raises what ``call`` raises at last; at once for a full disk and for any
    other error.
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
    """The notes of the error, such as where a function raised it; else the line of code, where no path is known."""
    if notes := getattr(error, "__notes__", ()):
        return [redacted(" ".join(note.split())) for note in notes]
    if getattr(found, "filename", None) is not None:
        return []
    frames = traceback.extract_tb(found.__traceback__)[-1:]
    return [f"at {Path(each.filename).name}:{each.lineno} in {each.name}" for each in frames]
