"""The file of a trial's log: how large it may become, and how it is read, also while another process writes it."""

import re
from itertools import takewhile
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.ordinary_files import opened
from skipstack.data.basis.printable import visible

LARGEST: Final = 1_000_000
"""Bytes beyond which a log is cut."""

FIRST, LAST = 250_000, 500_000
"""Bytes that are kept then of its beginning and of its end."""

CUT: Final = re.compile(rb"^\.\.\. ([\d,]+) bytes are cut here \.\.\.\n", re.MULTILINE)
"""The line in place of what was cut. Every other line begins with its time."""

SEEN: Final = 2_000
"""Bytes by which a reader finds the position up to which it has read, once the log has been cut."""

TAKEN_BACK: Final = 3
"""Number of last lines that may have been taken back since they were read."""


def cut(content: bytes) -> tuple[int, bytes]:
    """Cut a log that has become too large: the byte from which on it changes, and the new content from there."""
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
    """The log at ``path``, which may be missing: then nothing was said."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = b""

    def whole(self) -> str:
        """The content of the log, safe for a terminal. Raises UserError if it cannot be read."""
        return _text(self._content())

    def news(self) -> str:
        """The whole lines that were added since the last call."""
        content = self._content()
        content = content[: content.rfind(b"\n") + 1]
        before = self._before
        if before.startswith(content):
            return ""  # what was taken back at its end may come again
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
    """The position up to which a log was read when its content was ``before``: since then, lines may have been cut from
    its middle, or taken back at its end.
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
