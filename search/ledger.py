"""The ledger: what happened in a study, in order, on disk. Everything else is a reading of it.

A study's folder holds numbered segments ``000001.jsonl``, ``000002.jsonl``, ...; each opening for
writing starts the next one, and what was written stays as it is. A line is one append::

    crc payload newline

``payload`` is the append's number, counted from 1 over all segments, a space, and the JSON of the
events that were told together; ``crc`` is the CRC-32 of its bytes in 8 hexadecimal digits. So a
report and the decision it led to are both there or neither is, and a line that is missing, doubled
or out of its place is found. An append returns when its line is on the disk (``fsync``).

A driver that is killed while it writes leaves a torn last line. That append never returned, so
nobody acted on it: the line is cut, and ``Ledger.cut`` says so. Damage anywhere else is an error.
"""

import fcntl
import io
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from data.errors import UserError
from search.events import Event, from_json, to_json


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a segment, where it stands, and its payload; None where the line is damaged."""

    segment: Path
    number: int
    start: int
    payload: bytes | None


class Ledger:
    """The events of one study's folder.

    Reading needs no lock. Writing does, so that one driver at a time writes::

        with Ledger(folder) as ledger:
            past = ledger.read()
            ledger.append(Reported(...), Decided(...))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cut: str | None = None
        """One line about the torn append that a reading or an opening left out; None without one."""
        self._lock: int | None = None
        self._segment: int | None = None
        self._appends = 0

    def read(self) -> list[Event]:
        """All events in order; none where there is no ledger yet. Changes nothing on the disk.

        Raises UserError, with file and line, on damage before the last line, on events that this
        version does not know, and on a missing segment.
        """
        lines, _ = self._lines()
        return [event for line in lines for event in _events(line)]

    def append(self, *events: Event) -> None:
        """Write events that belong together: after a crash all of them are there, or none.

        Raises OSError where the disk refuses; the segment is then as it was before.
        """
        assert self._segment is not None, "the ledger is not open for writing"
        size = os.fstat(self._segment).st_size
        try:
            _write(self._segment, _line(events, self._appends + 1))
            os.fsync(self._segment)
            self._appends += 1
        except BaseException:
            os.ftruncate(self._segment, size)
            raise

    def __enter__(self) -> Self:
        """Take the lock, cut a torn last line off and start a segment; the folder is made if need be.

        Raises UserError where another process writes or the ledger is damaged; no segment has changed then.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        try:
            lines, torn = self._lines()
            self._appends = len(lines)
            if torn is not None:
                _shorten(torn.segment, torn.start)
            path = self.folder / f"{len(self._segments()) + 1:06d}.jsonl"
            self._segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            _settle(self.folder)
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the segment and hand the lock back."""
        self._release()

    def _release(self) -> None:
        for descriptor in (self._segment, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._segment = self._lock = None

    def _segments(self) -> list[Path]:
        found = sorted(self.folder.glob("[0-9]" * 6 + ".jsonl"))
        for number, path in enumerate(found, start=1):
            if path.name != f"{number:06d}.jsonl":
                raise UserError(f"{self.folder}: {number:06d}.jsonl is missing (got {path.name}; allowed: no gaps)")
        return found

    def _lines(self) -> tuple[list[_Line], _Line | None]:
        """The whole lines of all segments, and the torn one after them, if there is one."""
        lines = [line for segment in self._segments() for line in _split(segment)]
        torn = lines.pop() if lines and lines[-1].payload is None else None
        for number, line in enumerate(lines, start=1):
            if line.payload is None:
                raise UserError(
                    f"{line.segment}:{line.number}: damaged, its checksum does not match "
                    "(allowed: only the last line of the ledger may be torn); restore the file from a copy"
                )
            if (own := line.payload.partition(b" ")[0]) != str(number).encode():
                raise UserError(
                    f"{line.segment}:{line.number}: got append {own.decode(errors='replace')[:20]} (allowed: append "
                    f"{number}, since all stand in their order); restore the folder from a copy"
                )
        if torn is not None:
            self.cut = f"{torn.segment}:{torn.number}: torn while it was written; cut, the study goes on before it"
        return lines, torn


def _line(events: Sequence[Event], number: int) -> bytes:
    payload = f"{number} {to_json(events)}".encode()
    return _checksum(payload) + b" " + payload + b"\n"


def _checksum(payload: bytes) -> bytes:
    return b"%08x" % zlib.crc32(payload)


def _split(segment: Path) -> list[_Line]:
    lines = []
    start = 0
    for number, text in enumerate(io.BytesIO(segment.read_bytes()), start=1):
        payload = text[9:-1]
        whole = text == _checksum(payload) + b" " + payload + b"\n"
        lines.append(_Line(segment, number, start, payload if whole else None))
        start += len(text)
    return lines


def _events(line: _Line) -> Sequence[Event]:
    assert line.payload is not None
    try:
        return from_json(line.payload.partition(b" ")[2])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"{line.segment}:{line.number}: whole, but not an event that this version knows: {where}: {first['msg']}"
        ) from error


def _locked(folder: Path) -> int:
    """The descriptor that holds the folder's lock until it is closed, however the process ends."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode() or "unknown"
        os.close(descriptor)
        raise UserError(f"{folder}: process {holder} writes this study (allowed: one driver at a time)") from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _write(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]


def _shorten(segment: Path, size: int) -> None:
    descriptor = os.open(segment, os.O_WRONLY)
    try:
        os.ftruncate(descriptor, size)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _settle(folder: Path) -> None:
    """Bring the folder's own entries to the disk, so that a new segment is still there after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
