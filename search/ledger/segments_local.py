"""Segments in a folder of this machine, or one that it shares: lines appended to files, each brought to the disk.

The folder holds ``000001.jsonl``, ``000002.jsonl``, ...; each opening for writing starts the next one, and what was
written stays as it is. ``000057.parquet`` holds what the segments up to 57 held, which are gone. An append returns when
its line is on the disk (``fsync``).

A driver that is killed while it writes leaves a torn last line. That append never returned, so nobody acted on it: the
line is cut. Damage anywhere else is an error.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.disk import settle
from skipstack.search.ledger.segments import Line, Segments, decoded, encoded

WORTH_COMPACTING = 10_000
"""Lines outside of the Parquet file that make it worth its time to write another."""

SEGMENT = re.compile(r"(\d{6})\.jsonl")
COMPACTED = re.compile(r"(\d{6})\.parquet")


@dataclass(frozen=True, slots=True)
class _Content:
    """What counts in a folder: the newest Parquet file, and the segments after it. ``stale`` is left to be removed."""

    compacted: Path | None
    segments: tuple[Path, ...]
    last: int
    stale: tuple[Path, ...]


@final
class LocalSegments(Segments):
    """The segments of ``folder``. One driver at a time writes: it holds the lock of the file ``lock`` (flock)."""

    def __init__(self, folder: Path, *, worth_compacting: int = WORTH_COMPACTING) -> None:
        super().__init__()
        self.folder = folder
        self._worth_compacting = worth_compacting
        self._lock: int | None = None
        self._segment: int | None = None

    def lines(self) -> Iterator[Line]:
        """The whole lines of all segments in order; see ``Segments``."""
        return self._whole(self._lines(self._content()))

    def open(self) -> None:
        """Take the lock, cut a torn last line off and start a segment; the folder is made if need be."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        try:
            content = self._content()
            loose = self._checked(content)
            for path in content.stale:
                path.unlink()
            if loose >= self._worth_compacting:
                content = self._compact(content)
            path = self.folder / f"{content.last + 1:06d}.jsonl"
            self._segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            settle(self.folder)
        except BaseException:
            self.close()
            raise

    def append(self, payload: bytes) -> None:
        """Write one line. Raises OSError where the disk refuses; the segment is then as it was before."""
        assert self._segment is not None, "the ledger is not open for writing"
        size = os.fstat(self._segment).st_size
        try:
            _write(self._segment, encoded(payload))
            os.fsync(self._segment)
        except BaseException:
            os.ftruncate(self._segment, size)
            raise

    def close(self) -> None:
        """Close the segment and hand the lock back."""
        for descriptor in (self._segment, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._segment = self._lock = None

    def _content(self) -> _Content:
        names = sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []
        numbers = [int(found[1]) for name in names if (found := COMPACTED.fullmatch(name))]
        last = start = max(numbers, default=0)
        segments, stale = [], [name for name in names if name.startswith(".") and COMPACTED.fullmatch(name[1:])]
        stale = [f"{number:06d}.parquet" for number in numbers if number < start]
        for name in names:
            if not (found := SEGMENT.fullmatch(name)):
                continue
            number = int(found[1])
            if number <= start:
                stale.append(name)
                continue
            last += 1
            if number != last:
                raise UserError(f"{self.folder}: {last:06d}.jsonl is missing (got {name}; allowed: no gaps)")
            segments.append(self.folder / name)
        compacted = self.folder / f"{start:06d}.parquet" if start else None
        return _Content(compacted, tuple(segments), last, tuple(self.folder / name for name in stale))

    def _lines(self, content: _Content) -> Iterator[Line]:
        if content.compacted is not None:
            from skipstack.search.ledger.compaction import lines_in  # Parquet is loaded where there is some

            yield from lines_in(content.compacted.read_bytes(), str(content.compacted))
        for segment in content.segments:
            yield from _split(segment)

    def _checked(self, content: _Content) -> int:
        """How many lines stand in no Parquet file; a torn last one is cut off.

        Raises UserError on damage elsewhere, changing nothing.
        """
        loose = sum(not line.segment.endswith(".parquet") for line in self._whole(self._lines(content)))
        if self.cut is not None:
            written = [segment for segment in content.segments if segment.stat().st_size]
            *_, torn = _split(written[-1])
            _shorten(written[-1], torn.number)
        return loose

    def _compact(self, content: _Content) -> _Content:
        """One Parquet file of everything. The segments go only once it was read back and is known."""
        from skipstack.search.ledger.compaction import compacted, lines_in, same

        path, beside = self.folder / f"{content.last:06d}.parquet", self.folder / f".{content.last:06d}.parquet"
        with beside.open("wb") as file:
            file.write(compacted(self._lines(content)))
            file.flush()
            os.fsync(file.fileno())
        if not same(lines_in(beside.read_bytes(), str(beside)), self._lines(content)):
            raise OSError(f"{beside}: does not read as it was written")
        os.replace(beside, path)
        settle(self.folder)
        for old in (*content.segments, *([content.compacted] if content.compacted else [])):
            old.unlink()
        return _Content(path, (), content.last, ())


def _split(segment: Path) -> Iterator[Line]:
    with segment.open("rb") as file:
        for number, text in enumerate(file, start=1):
            yield Line(str(segment), number, decoded(text))


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


def _shorten(segment: Path, number: int) -> None:
    """Cut line ``number``, the last, off."""
    with segment.open("r+b") as file:
        for _ in range(number - 1):
            file.readline()
        file.truncate(file.tell())
        os.fsync(file.fileno())
