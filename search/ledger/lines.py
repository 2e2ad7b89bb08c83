"""The lines of a ledger's files. A file into which many lines were compacted is compressed (gzip). A line is::

    crc payload newline

A line is one append: the events that were written together. ``payload`` has three parts: the number of the append (the
first is 1), a space, and the JSON of the events. ``crc`` is the CRC-32 of the payload's bytes, in 8 hexadecimal digits.
A report and the decision on it are one append, so that neither is stored without the other. The appends' numbers reveal
a missing, doubled or misplaced append.
"""

import errno
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from skipstack.data.basis.atomic_files import atomic_file
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.ordinary_files import opened

SUFFIX: Final = ".jsonl.gz"
"""The suffix of a compacted file's name."""

LEVEL: Final = 3
"""The level of gzip: files are almost as small as at the highest level, and are written three times as fast."""

LONGEST: Final = 1 << 28
"""The maximum number of bytes of an unpacked line of a compacted file; a longer line counts as damaged. An untrusted
file could unpack to a thousand times its size.
"""


class Line(NamedTuple):
    """A line of a file, which is one append. ``segment``: the path of the file. ``number``: the line number, counted
    from 1. ``payload``: the number of the append and the JSON of its events; None if the line is damaged.
    """

    segment: str
    number: int
    payload: bytes | None


def damaged(place: str, why: str = "its checksum does not match") -> UserError:
    """Create the error for damage other than a torn append. ``place``: the file, or the file and line."""
    return UserError(
        f"{place}: damaged, {why} (allowed: only the last line of the ledger may be torn); restore the file from a copy"
    )


def check_append(line: Line, number: int) -> None:
    """Raise UserError if an undamaged line is not append ``number``."""
    assert line.payload is not None
    if not line.payload.startswith(b"%d " % number):
        found = line.payload.partition(b" ")[0].decode(errors="replace")[:20]
        raise damaged(f"{line.segment}:{line.number}", f"append {found} stands where append {number} should")


def encoded(payload: bytes) -> bytes:
    """Return the line that stores a payload."""
    return checksum(payload) + b" " + payload + b"\n"


def decoded(line: bytes) -> bytes | None:
    """Return the payload of a line; None if the line is incomplete or its checksum is wrong."""
    payload = line[9:-1]
    return payload if line[:9] == checksum(payload) + b" " and line[-1:] == b"\n" else None


def checksum(payload: bytes) -> bytes:
    """Return the CRC-32 of ``payload``, in 8 hexadecimal digits."""
    return b"%08x" % zlib.crc32(payload)


def lines_in(path: Path) -> Iterator[Line]:
    """Yields the lines of a file. Raises UserError if a compacted file is damaged: a compacted file is never torn."""
    return _compacted_lines(path) if path.name.endswith(SUFFIX) else _appended_lines(path)


def _appended_lines(path: Path) -> Iterator[Line]:
    name = str(path)
    with opened(path) as file:
        for number, text in enumerate(file, start=1):
            yield Line(name, number, decoded(text))


def _compacted_lines(path: Path) -> Iterator[Line]:
    number = 0
    try:
        with opened(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            while text := file.readline(LONGEST):
                number += 1
                if (payload := decoded(text)) is None:
                    raise damaged(f"{path}:{number}")
                yield Line(str(path), number, payload)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(f"{path}:{number + 1}", "it is no whole gzip file") from error
    if not number:
        raise damaged(str(path), "it is empty")


def compacted(lines: Iterable[Line]) -> bytes:
    """Return the content of a compacted file with the undamaged lines. Equal lines give equal content."""
    packed = BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, packed, mtime=0) as file:
        for line in lines:
            if line.payload is not None:
                file.write(encoded(line.payload))
    return packed.getvalue()


def write_compacted(path: Path, lines: Callable[[], Iterable[Line]]) -> None:
    """Write a compacted file atomically and durably. Raises OSError if reading it back does not give the same lines."""
    with atomic_file(path, fsync=True) as temporary:
        temporary.write_bytes(compacted(lines()))
        given = (line.payload for line in lines())
        read = (line.payload for line in _compacted_lines(temporary))
        if any(one != other for one, other in zip_longest(given, read, fillvalue=...)):  # a torn line has None
            raise OSError(errno.EIO, "does not read as it was written", str(temporary))
