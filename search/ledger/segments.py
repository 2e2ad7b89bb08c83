"""Segments: what a ledger is written in, whatever holds them. The line of one append, and the contract.

A line is one append::

    crc payload newline

``payload`` is the number of the append, counted from 1, a space, and the JSON of the events that belong together;
``crc`` is the CRC-32 of its bytes in 8 hexadecimal digits. So a report and the decision it led to are both there or
neither is, and an append that is missing, doubled or out of its place is found.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skipstack.data.basis.errors import UserError


@dataclass(frozen=True, slots=True)
class Line:
    """One append where it stands, the segment's name or address and the line's number from 1, and its payload.

    ``payload`` is None where the line is damaged.
    """

    segment: str
    number: int
    payload: bytes | None


class Segments(ABC):
    """Numbered segments of lines, only ever added to. Reading needs no lock, writing does."""

    def __init__(self) -> None:
        self.cut: str | None = None
        """One line about a torn append that a reading or an opening left out; None without one."""
        self.appends = 0
        """How many there are: those that the last whole reading found, and those that were written since."""

    @abstractmethod
    def lines(self) -> Iterator[Line]:
        """The whole lines of all segments in order; none where nothing was written yet. Changes nothing.

        Raises UserError, with segment and line, on damage before the last line, and on a missing segment.
        """

    @abstractmethod
    def open(self) -> None:
        """Become the one writer, leave a torn last line behind, compact old segments, and start a segment.

        Raises UserError where another driver writes or the ledger is damaged; no segment has changed then.
        """

    @abstractmethod
    def append(self, payload: bytes) -> None:
        """Write one line; it is there for good when this returns. Raises OSError where it is refused, and
        UserError where another driver may have become the writer; what was there before is as it was.
        """

    @abstractmethod
    def close(self) -> None:
        """Let another driver write."""

    def _whole(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The lines without a torn last one, which ``cut`` then tells.

        Raises UserError on damage before it, and where an append is missing, doubled or out of its place.
        """
        torn: Line | None = None
        appends = 0
        for line in lines:
            if torn is not None:
                raise damaged(f"{torn.segment}:{torn.number}")
            if line.payload is None:
                torn = line
                continue
            appends += 1
            if (number := line.payload.partition(b" ")[0]) != b"%d" % appends:
                found = number.decode(errors="replace")[:20]
                raise damaged(f"{line.segment}:{line.number}", f"append {found} stands where append {appends} should")
            yield line
        self.appends = appends
        if torn is not None:
            self.cut = f"{torn.segment}:{torn.number}: torn while it was written; cut, the study goes on before it"


def damaged(place: str, why: str = "its checksum does not match") -> UserError:
    """What is said of damage that no torn append explains."""
    return UserError(
        f"{place}: damaged, {why} (allowed: only the last line of the ledger may be torn); restore the file from a copy"
    )


def encoded(payload: bytes) -> bytes:
    """The line of a payload."""
    return checksum(payload) + b" " + payload + b"\n"


def decoded(line: bytes) -> bytes | None:
    """The payload of a line; None where the line is not whole."""
    payload = line[9:-1]
    return payload if line == encoded(payload) else None


def checksum(payload: bytes) -> bytes:
    """The CRC-32 of bytes, in 8 hexadecimal digits."""
    return b"%08x" % zlib.crc32(payload)
