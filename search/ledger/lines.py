"""The format of a ledger's lines, one per append::

    crc payload newline

``payload`` is the number of the append, counted from 1, a space, and the JSON of its events; ``crc`` is the CRC-32 of
its bytes in 8 hexadecimal digits. So a report and the decision on it are stored together or not at all, and a missing,
doubled or misplaced append is detected.
"""

import zlib
from typing import NamedTuple

from skipstack.data.basis.errors import UserError


class Line(NamedTuple):
    """An append: the name of its segment, its line number from 1, and its payload; None if the line is damaged."""

    segment: str
    number: int
    payload: bytes | None


def damaged(place: str, why: str = "its checksum does not match") -> UserError:
    """The error for damage that a torn append does not explain."""
    return UserError(
        f"{place}: damaged, {why} (allowed: only the last line of the ledger may be torn); restore the file from a copy"
    )


def encoded(payload: bytes) -> bytes:
    """The line of a payload."""
    return checksum(payload) + b" " + payload + b"\n"


def decoded(line: bytes) -> bytes | None:
    """The payload of a line; None if the line is not whole."""
    payload = line[9:-1]
    return payload if line[:9] == checksum(payload) + b" " and line[-1:] == b"\n" else None


def checksum(payload: bytes) -> bytes:
    """The CRC-32 of bytes, in 8 hexadecimal digits."""
    return b"%08x" % zlib.crc32(payload)
