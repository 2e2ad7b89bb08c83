"""The log file of a trial: cuts a log that is too large, and reads a log, even while a process writes it."""

import re
from itertools import takewhile
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.ordinary_files import opened
from skipstack.data.basis.printable import visible

LARGEST: Final = 1_000_000
"""The size in bytes above which a log is cut."""

FIRST, LAST = 250_000, 500_000
"""The maximum number of bytes that are kept of the beginning and of the end of a log that is cut."""

CUT: Final = re.compile(rb"^\.\.\. ([\d,]+) bytes are cut here \.\.\.\n", re.MULTILINE)
"""The pattern of the line that replaces the removed bytes. Every other line begins with a time."""

SEEN: Final = 2_000
"""After a cut, a reader searches the log for the last ``SEEN`` bytes that it has read, and continues after them."""

TAKEN_BACK: Final = 3
"""The maximum number of searches for the last ``SEEN`` bytes. Before each further search, the reader drops the last
line that it has read, since the writer may have removed lines at the end.
"""


def cut(content: bytes) -> tuple[int, bytes]:
    """Cut the content of a log that has become too large. Returns the position from which the content changes, and the
    new content from that position on.
    """
    if (before := CUT.search(content)) is not None:
        start, gone, rest = before.start(), int(before[1].replace(b",", b"")), content[before.end() :]
    else:
        start, gone = content.rfind(b"\n", 0, FIRST) + 1, 0
        rest = content[start:]
    last = rest[-LAST:]
    last = last[last.find(b"\n") + 1 :]
    gone += len(rest) - len(last)
    return start, b"... %s bytes are cut here ...\n%s" % (f"{gone:,}".encode(), last)


class LogFile:
    """Reads the log at ``path``. A missing file counts as an empty log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = b""

    def whole(self) -> str:
        """Return the whole log, with control characters escaped. Raises UserError if the log cannot be read."""
        return _text(self._content())

    def news(self) -> str:
        """Return the complete lines that were added since the last call. Raises UserError if the log cannot be read."""
        content = self._content()
        content = content[: content.rfind(b"\n") + 1]
        before = self._before
        if before.startswith(content):
            return ""  # the writer has removed lines at the end, and may write them again
        self._before = content
        return _text(content[_read_until(before, content) :])

    def _content(self) -> bytes:
        try:
            with opened(self._path) as file:
                return file.read(2 * LARGEST)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise UserError(f"{self._path}: cannot be read ({error.strerror})") from error


def _read_until(before: bytes, content: bytes) -> int:
    """Return the position in ``content`` up to which a reader has read a log. ``before``: the content that it has read.
    Since then, lines may have been cut from the middle of the log or removed at its end.
    """
    if content.startswith(before):
        return len(before)
    end = len(before)
    for _ in range(TAKEN_BACK):
        known = before[max(end - SEEN, 0) : end]
        if known and (place := content.rfind(known)) >= 0:
            return place + len(known)
        end = before.rfind(b"\n", 0, max(end - 1, 0)) + 1
    pairs = zip(before.splitlines(keepends=True), content.splitlines(keepends=True), strict=False)
    return sum(len(one) for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _text(content: bytes) -> str:
    return visible(content.decode(errors="replace"))
