"""The log of a trial: the output and warnings of its processes and the tracebacks of its errors, in a file of bounded
size.

Each line begins with its time, and with its seed if the trial has several. Lines that cannot be written are dropped, so
that no trial fails or waits because of its log.
"""

import math
import os
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from skipstack.data.basis.printable import visible
from skipstack.data.basis.redaction import redacted, redacting
from skipstack.search.study.record.folder import LOG, make_trial_folder
from skipstack.search.study.record.log_file import LARGEST, cut

LONGEST: Final = 10_000
"""Largest number of characters of a line. A longer line is split: its first part is written before the line ends."""

HELD: Final = 1_000
"""Number of characters at the end of a split line that wait for further text, since a secret may begin there."""

AT_ONCE: Final = 100_000
"""Number of bytes that are written between two checks of the file's size."""

SECRETS_KEPT: Final = 1.0
"""Seconds after which the environment is searched for secrets again."""

SEQUENCES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Pattern of the escape sequences that colour text in a terminal or move its cursor."""

_lock = threading.RLock()
"""Lock for writing to the logs of this process, since threads of a trial may print at the same time."""


class TrialLog:
    """Writes the log of a trial in the trial's ``folder``. ``head``: a line about the process. It is written when an
    epoch begins, and removed at the epoch's end if nothing was printed so far. ``several``: whether each line names its
    ``speaker``, the call that runs now.
    """

    def __init__(self, folder: Path, head: str, *, several: bool) -> None:
        self.speaker: str | None = None
        self._folder = folder
        self._head = f"{_now()} {visible(head)}\n".encode(errors="backslashreplace")
        self._several = several
        self._file: int | None = None
        self._beginning: int | None = None
        """The size of the file before the head; None while the head is not written."""
        self._unfinished = ""
        self._redact: Callable[[str], str] = redacted
        self._secrets_until = -math.inf
        self._variables = 0
        self._said = False
        self._lost = False

    @property
    def descriptor(self) -> int | None:
        """The file descriptor of the open log; None if it is not open, or can no longer be written."""
        return None if self._lost else self._file

    def begin(self) -> None:
        """Open the file unless it is open, and write the head unless it is written."""
        with _lock:
            self._try(self._begin)

    def hear(self, text: str) -> None:
        """Write the complete lines of printed text. An unfinished line waits for its end or ``LONGEST`` characters."""
        with _lock:
            whole, end, self._unfinished = (self._unfinished + text).rpartition("\n")
            if end:
                self._tell(whole)
            self._unfinished = _overwritten(self._unfinished)
            if len(self._unfinished) > LONGEST:
                hidden = self._redacted(self._unfinished)
                self._unfinished = hidden[-HELD:]
                self._tell(hidden[:-HELD])

    def end_line(self) -> None:
        """Write the unfinished line."""
        with _lock:
            unfinished, self._unfinished = self._unfinished, ""
            if unfinished:
                self._tell(unfinished)

    def rest(self) -> None:
        """End an epoch. If nothing was printed to this log so far, remove the head from the file."""
        with _lock:
            self.end_line()
            if not self._said:
                self._try(self._take_back)

    def close(self) -> None:
        """Close the file; ``begin`` opens it again."""
        with _lock:
            file, self._file = self._file, None
            if file is not None:
                self._try(partial(os.close, file))

    def _begin(self) -> None:
        if self._file is None:
            make_trial_folder(self._folder)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            self._file = os.open(self._folder / LOG, flags, 0o666)
        if self._beginning is None:
            size = os.fstat(self._file).st_size
            self._beginning = size
            torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"
            self._append((b"\n" if torn else b"") + self._head)

    def _take_back(self) -> None:
        if self._file is not None and self._beginning is not None:
            if os.fstat(self._file).st_size == self._beginning + len(self._head):  # no other process has written
                os.ftruncate(self._file, self._beginning)
            self._beginning = None

    def _tell(self, text: str) -> None:
        """Write complete lines, each with time and speaker, without secrets and escape sequences."""
        self._said = True
        shown = SEQUENCES.sub("", text)
        if "\r" in shown:
            shown = "\n".join(_overwritten(line).rstrip("\r") for line in shown.split("\n"))
        shown = visible(self._redacted(shown))
        start = f"{_now()} {self.speaker}: " if self._several and self.speaker is not None else f"{_now()} "
        lines = "".join(
            f"{start}{line[place : place + LONGEST]}\n"
            for line in shown.split("\n")
            for place in range(0, max(len(line), 1), LONGEST)
        )
        self._try(partial(self._append, lines.encode(errors="backslashreplace")))

    def _redacted(self, text: str) -> str:
        """Return the text without secrets. The environment is searched for secrets again after ``SECRETS_KEPT``
        seconds, or if its number of variables has changed.
        """
        now, variables = time.monotonic(), len(os.environ)
        if now > self._secrets_until or variables != self._variables:
            self._redact, self._secrets_until, self._variables = redacting(), now + SECRETS_KEPT, variables
        return self._redact(text)

    def _append(self, content: bytes) -> None:
        file = self._file
        if file is None:
            return
        for start in range(0, len(content), AT_ONCE):
            part = content[start : start + AT_ONCE]
            while part:
                part = part[os.write(file, part) :]
            if os.fstat(file).st_size > LARGEST:
                self._cut(file)

    def _cut(self, file: int) -> None:
        start, rest = cut(os.pread(file, 2 * LARGEST, 0))
        whole = os.open(self._folder / LOG, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)  # ``file`` only appends
        try:
            os.pwrite(whole, rest, start)
            os.ftruncate(whole, start + len(rest))
        finally:
            os.close(whole)

    def _try(self, writing: Callable[[], object]) -> None:
        """Call ``writing``. After an OSError, nothing more is written to this log."""
        if not self._lost:
            try:
                writing()
            except OSError:
                self._lost = True


def _overwritten(line: str) -> str:
    """Return the part of a line that a terminal shows after the carriage returns of a progress bar."""
    if "\r" not in line:
        return line
    back = "\r" if line.endswith("\r") else ""
    return line.rstrip("\r").rpartition("\r")[2] + back


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())


def _unlocked() -> None:
    """Replace the lock in a forked process, where no thread would ever release a lock that was held during the fork."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_unlocked)
