"""Segments: append-only files of lines in a folder; each append is flushed to the disk.

The folder holds ``000001.jsonl``, ``000002.jsonl``, ...; each opening for writing starts the next one, and earlier ones
never change. Compaction replaces the segments up to 57 by ``000057.jsonl.gz``. An append returns when its line is on
the disk (``fsync``).

A driver that is killed while it writes leaves a torn last line. That append never returned, so nobody acted on it, and
the line is cut. Damage anywhere else is an error.
"""

import fcntl
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skipstack.data.basis.atomic_files import fsync_path
from skipstack.data.basis.disk_errors import FULL, PAUSES
from skipstack.data.basis.errors import UserError, older
from skipstack.search.ledger.lines import SUFFIX, Line, damaged, encoded, lines_in, write_compacted

WORTH_COMPACTING = 10_000
"""Number of lines outside of the compacted file from which the ledger is compacted."""

SETTLED: Final = 2.0
"""Seconds after a file's last change from which its size and time show every further change: disks have slow clocks,
and a change in the same tick leaves the time as it is."""

Version = tuple[tuple[str, int, int, int], ...]
"""The files that have lines: their names, inodes, sizes, and times of change in nanoseconds."""

SEGMENT = re.compile(r"(\d{6})\.jsonl")
COMPACTED = re.compile(r"(\d{6})\.jsonl\.gz")
HALF_COMPACTED = re.compile(r"\.\d{6}\.jsonl\.gz(\.\w+)?")
"""The half-written file of a driver that was killed during compaction."""

PARQUET = re.compile(r"\d{6}\.parquet")
"""A file that a version up to 0.2.0 compacted, which ``skipstack upgrade`` rewrites."""


class TakenOverError(OSError):
    """Another driver has started to write: appends of this one no longer count."""


class FolderGoneError(OSError):
    """The folder was moved or deleted while its driver writes. ``now``: where it is now, None if unknown."""

    def __init__(self, *, deleted: bool, now: Path | None = None) -> None:
        super().__init__("the folder was deleted" if deleted else "the folder was moved")
        self.deleted = deleted
        self.now = now


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a whole reading without damage: the number of appends, that of lines outside of the compacted file,
    and one line about a torn append.
    """

    appends: int
    loose: int
    cut: str | None


@dataclass(frozen=True, slots=True)
class _Content:
    """The valid files of a folder: the newest compacted file and the segments after it. ``stale``: files to delete."""

    compacted: Path | None
    segments: tuple[Path, ...]
    last: int
    stale: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The valid files in order."""
        return (*(() if self.compacted is None else (self.compacted,)), *self.segments)


class Segments:
    """The segments of ``folder``. Reading needs no lock; one driver at a time writes.

    The writer locks the file ``lock`` (flock). The lock ends with its process, and holds for all machines on a shared
    disk that supports locks. ``pause`` waits for a number of seconds.
    """

    def __init__(
        self, folder: Path, *, worth_compacting: int = WORTH_COMPACTING, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.folder = folder
        self.cut: str | None = None
        """A line about a torn append that reading or opening dropped; None if there was none."""
        self.appends = 0
        """The number of appends: those of the last complete reading, plus those written since."""
        self._worth_compacting = worth_compacting
        self._pause = pause
        self._lock: int | None = None
        self._segment: int | None = None
        self._number = 0
        self._size = 0

    def lines(self) -> Iterator[Line]:
        """The whole lines of all segments in order; none if nothing was written yet. Changes nothing.

        Raises UserError, with segment and line, on damage before the last line, and on a missing segment.
        """
        return self._whole(self._content())

    def files(self) -> tuple[Path, ...]:
        """The valid files in order. Raises UserError on a missing segment."""
        return self._content().files

    def version(self) -> Version | None:
        """The version of the ledger; None if it changed within the last ``SETTLED`` seconds, so that a change could
        leave it the same, and while a compaction removes files. Raises UserError on a missing segment.
        """
        try:
            stats = [(path.name, path.stat()) for path in self.files()]
        except FileNotFoundError:
            return None
        filled = [(name, each) for name, each in stats if each.st_size]
        if any(time.time() - each.st_mtime < SETTLED for _, each in filled):
            return None
        return tuple((name, each.st_ino, each.st_size, each.st_mtime_ns) for name, each in filled)

    def open(self, known: Callable[[], Checked | None] = lambda: None) -> None:
        """Lock the folder, cut a torn last line, compact old segments, and start a segment.

        ``known``, called once the folder is locked, returns the result of an earlier reading of the same content, or
        None: then it is read now. The folder is created if needed. Raises UserError if another driver writes or the
        ledger is damaged; then no segment has changed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        try:
            content = self._content()
            loose = self._cut_torn(content, known() or self._checked(content))
            for path in content.stale:
                path.unlink()
            if loose >= self._worth_compacting:
                content = self._compact(content)
            self._number, self._size = content.last + 1, 0
            self._segment = os.open(self._path(self._number), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            fsync_path(self.folder)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other drivers from writing. Raises UserError if one writes."""
        try:
            lock = _locked(self.folder)
        except OSError:  # the folder cannot be written, so no driver can write either
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    def append(self, payload: bytes) -> None:
        """Write one line, which is durable when this returns. A failed write is retried after each of ``PAUSES``.

        Raises OSError if it still fails, TakenOverError if another driver has started, and FolderGoneError if the
        folder was moved or deleted; earlier lines are unchanged.
        """
        for pause in (*PAUSES, None):
            try:
                self._append(encoded(payload))
                return
            except OSError as error:
                if pause is None or isinstance(error, TakenOverError | FolderGoneError) or error.errno in FULL:
                    raise
                self._pause(pause)

    def close(self) -> None:
        """Close the segment and release the lock."""
        for descriptor in (self._segment, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._segment = self._lock = None

    def _append(self, line: bytes) -> None:
        assert self._segment is not None, "the ledger is not open for writing"
        self._check_place(self._segment)
        try:
            os.ftruncate(self._segment, self._size)  # drops the rest of a failed attempt
            _write(self._segment, line)
            os.fsync(self._segment)
        except BaseException:
            with suppress(OSError):  # else the next reader cuts it
                os.ftruncate(self._segment, self._size)
            raise
        self._size += len(line)

    def _check_place(self, segment: int) -> None:
        """Raises TakenOverError where another driver has begun, and FolderGoneError where the segment is not here."""
        following, own = self._path(self._number + 1), os.fstat(segment)
        if _is_at(own, self._path(self._number)):
            if following.exists():
                raise TakenOverError(f"another driver has begun to write, in {following.name}")
            return
        if own.st_nlink:  # Linux says where it is now; a file server keeps a deleted file under another name
            now = _open_file(segment)
            renamed = now is not None and now.name != self._path(self._number).name
            raise FolderGoneError(deleted=renamed, now=None if now is None or renamed else now.parent)
        if following.exists() or self._compacted(self._number).exists() or self._later():
            raise TakenOverError(f"another driver has begun to write, in {following.name}")  # and has compacted this
        raise FolderGoneError(deleted=True)

    def _later(self) -> bool:
        """Whether files follow this segment: those of another driver."""
        return self._content().last > self._number

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.jsonl"

    def _compacted(self, number: int) -> Path:
        return self.folder / f"{number:06d}{SUFFIX}"

    def _content(self) -> _Content:
        names = sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []
        if old := next(filter(PARQUET.fullmatch, names), None):
            raise older(f"{self.folder / old}: a compacted ledger", self.folder.parent)
        numbers = [int(found[1]) for name in names if (found := COMPACTED.fullmatch(name))]
        last = start = max(numbers, default=0)
        segments, stale = [], [name for name in names if HALF_COMPACTED.fullmatch(name)]
        stale += [f"{number:06d}{SUFFIX}" for number in numbers if number < start]
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
        compacted = self._compacted(start) if start else None
        return _Content(compacted, tuple(segments), last, tuple(self.folder / name for name in stale))

    def _lines(self, content: _Content) -> Iterator[Line]:
        for path in content.files:
            yield from lines_in(path)

    def _whole(self, content: _Content) -> Iterator[Line]:
        """The lines without a torn last one, which ``cut`` then describes.

        Raises UserError on damage before it, and on a missing, doubled or misplaced append.
        """
        torn: Line | None = None
        appends = 0
        for line in self._lines(content):
            if torn is not None:
                raise damaged(f"{torn.segment}:{torn.number}")
            if line.payload is None:
                torn = line
                continue
            appends += 1
            if not line.payload.startswith(b"%d " % appends):
                found = line.payload.partition(b" ")[0].decode(errors="replace")[:20]
                raise damaged(f"{line.segment}:{line.number}", f"append {found} stands where append {appends} should")
            yield line
        self.appends = appends
        if torn is not None:
            self.cut = f"{torn.segment}:{torn.number}: torn while it was written; cut, the study goes on before it"

    def _checked(self, content: _Content) -> Checked:
        """The result of a whole reading. Raises UserError on damage."""
        self.cut = None
        loose = sum(not line.segment.endswith(SUFFIX) for line in self._whole(content))
        return Checked(self.appends, loose, self.cut)

    def _cut_torn(self, content: _Content, checked: Checked) -> int:
        """The number of lines outside of the compacted file, after cutting a torn last one."""
        self.appends, self.cut = checked.appends, checked.cut
        if self.cut is not None:
            written = [segment for segment in content.segments if segment.stat().st_size]
            *_, torn = lines_in(written[-1])
            _shorten(written[-1], torn.number)
        return checked.loose

    def _compact(self, content: _Content) -> _Content:
        """Write everything into one file, read it back, and only then delete the old files."""
        path = self._compacted(content.last)
        write_compacted(path, lambda: self._lines(content))
        for old in content.files:
            old.unlink()
        return _Content(path, (), content.last, ())


def _is_at(own: os.stat_result, path: Path) -> bool:
    try:
        return os.path.samestat(own, path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _open_file(descriptor: int) -> Path | None:
    """The path of an open file; None on a system that does not say."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None


def _locked(folder: Path) -> int:
    """Lock the folder; the lock lasts until the returned descriptor is closed, however the process ends."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "unknown"
        os.close(descriptor)
        raise UserError(f"{folder}: process {holder} writes this study (allowed: one driver at a time)") from None
    except BaseException:
        os.close(descriptor)
        raise
    with suppress(OSError):  # the lock holds without a name, as on a full disk
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} on {socket.gethostname()}".encode(), 0)
    return descriptor


def _write(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]


def _shorten(segment: Path, number: int) -> None:
    """Cut the last line, whose number is ``number``."""
    with segment.open("r+b") as file:
        for _ in range(number - 1):
            file.readline()
        file.truncate(file.tell())
        os.fsync(file.fileno())
