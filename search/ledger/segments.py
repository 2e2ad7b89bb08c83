"""Segments: append-only files of lines in a folder. Each append is flushed to the disk (``fsync``) before it returns.

The folder contains ``000001.jsonl``, ``000002.jsonl``, ... Each driver that opens the ledger for writing starts a new
segment, and adds nothing to earlier ones. Compaction replaces, for example, the segments up to 57 by one file,
``000057.jsonl.gz``.

A driver that is killed while it writes may leave a torn (incomplete) last line. Nothing depends on that line, since its
append never returned. The next driver cuts it. Damage anywhere else is an error.
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
from skipstack.data.basis.ordinary_files import opened
from skipstack.search.ledger.lines import SUFFIX, Line, check_append, damaged, encoded, lines_in, write_compacted

WORTH_COMPACTING = 10_000
"""A ledger with at least this number of lines outside the compacted file is compacted when it is opened for writing."""

SETTLED: Final = 2.0
"""If a file has not changed for this number of seconds, its size and modification time reveal every further change. Two
changes in quicker succession could have the same time, since a disk's clock may be coarse.
"""

Version = tuple[tuple[str, int, int, int], ...]
"""The version of a ledger: the name, inode, size and modification time (ns) of each file that is not empty."""

SEGMENT = re.compile(r"(\d{6})\.jsonl")
COMPACTED = re.compile(r"(\d{6})\.jsonl\.gz")
HALF_COMPACTED = re.compile(r"\.\d{6}\.jsonl\.gz(\.\w+)?")
"""The name of an incomplete compacted file, left by a driver that was killed during compaction."""

LOOKED_AT = 0.05
"""Seconds after which a lock that is held is tried once more. ``Segments.is_written`` holds it for less."""

PARQUET = re.compile(r"\d{6}\.parquet")
"""A compacted file of versions up to 0.2.0, which ``skipstack upgrade`` rewrites."""


class TakenOverError(OSError):
    """Raised by an append that is not stored because another driver has started to write the ledger."""


class FolderGoneError(OSError):
    """Raised by an append if the folder was moved or deleted while its driver was writing. ``deleted``: whether it was
    deleted, not moved. ``now``: the new path of a moved folder; None if it is unknown.
    """

    def __init__(self, *, deleted: bool, now: Path | None = None) -> None:
        super().__init__("the folder was deleted" if deleted else "the folder was moved")
        self.deleted = deleted
        self.now = now


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of reading a whole undamaged ledger. ``appends``: the number of appends. ``loose``: the number of
    lines outside the compacted file. ``cut``: a message about a torn append; None without one.
    """

    appends: int
    loose: int
    cut: str | None


@dataclass(frozen=True, slots=True)
class _Content:
    """The files of a ledger's folder. ``compacted``: the newest compacted file; None without one. ``segments``: the
    segments after it. ``last``: the number of the last segment or, without segments, of the compacted file. ``stale``:
    files that no longer belong to the ledger and should be deleted.
    """

    compacted: Path | None
    segments: tuple[Path, ...]
    last: int
    stale: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """The files with the ledger's lines, in order."""
        return (*(() if self.compacted is None else (self.compacted,)), *self.segments)


class Segments:
    """Reads and writes the segments in ``folder``. Reading needs no lock. Only one driver can write at a time.

    The writer locks the file ``lock`` (flock) until ``close`` or the end of its process. On a shared disk that supports
    locks, the lock holds for all machines. ``worth_compacting``: if at least this number of lines is outside the
    compacted file, ``open`` compacts them. ``pause``: a function that waits for a number of seconds.
    """

    def __init__(
        self, folder: Path, *, worth_compacting: int = WORTH_COMPACTING, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.folder = folder
        self.cut: str | None = None
        """A message about a torn append that reading or opening dropped; None without one."""
        self.appends = 0
        """The number of appends in the last complete reading, plus the number of appends since then."""
        self._worth_compacting = worth_compacting
        self._pause = pause
        self._lock: int | None = None
        self._segment: int | None = None
        self._number = 0
        self._size = 0

    def lines(self) -> Iterator[Line]:
        """Yields the complete lines of all files in order, one per append, and sets ``cut`` if the last line is torn.
        Raises UserError, with file and line, on damage before the last line and for a missing segment.
        """
        torn: Line | None = None
        appends = 0
        for line in self._lines(self._content()):
            if torn is not None:
                raise damaged(f"{torn.segment}:{torn.number}")
            if line.payload is None:
                torn = line
                continue
            appends += 1
            check_append(line, appends)
            yield line
        self.appends = appends
        if torn is not None:
            self.cut = f"{torn.segment}:{torn.number}: torn while it was written; cut, the study goes on before it"

    def files(self) -> tuple[Path, ...]:
        """Return the files with the ledger's lines, in order. Raises UserError if a segment is missing."""
        return self._content().files

    def version(self) -> Version | None:
        """Return the version of the ledger. Raises UserError if a segment is missing.

        Returns None while a compaction is removing files. Returns None also if a file changed within the last
        ``SETTLED`` seconds, since a further change could then leave the version the same.
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
        """Lock the folder, cut a torn last line, compact old segments, and start a segment. Creates a missing folder.

        ``known`` is called after the folder was locked. It returns the result of an earlier reading of the same
        content; if it returns None, the content is read here. Raises UserError if another driver is writing or the
        ledger is damaged. Then no segment has changed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        try:
            content = self._content()
            loose = self._cut_torn(content, known() or self.checked())
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
    def kept(self) -> Iterator[None]:
        """Context in which no driver can write. Raises UserError if a driver is writing already. If this user cannot
        write to the folder, the folder is neither locked nor checked.
        """
        try:
            lock = _locked(self.folder)
        except OSError:  # for example, this user cannot write to the folder
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    @property
    def is_written(self) -> bool:
        """Whether a driver is writing. Changes nothing, so that it is also known of another user's study."""
        try:
            with opened(self.folder / "lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # no driver has written yet, or the disk has no locks, without which none can write
            return False
        return False

    def append_line(self, payload: bytes) -> None:
        """Write one line to the disk. A failed write is retried after pauses of ``PAUSES`` seconds, unless a retry
        cannot help, as on a full disk.

        Raises OSError if the write still fails, TakenOverError if another driver has started to write, and
        FolderGoneError if the folder was moved or deleted.
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
            os.ftruncate(self._segment, self._size)  # removes the remains of a failed attempt
            _write(self._segment, line)
            os.fsync(self._segment)
        except BaseException:
            with suppress(OSError):  # if this fails, the next append cuts the line
                os.ftruncate(self._segment, self._size)
            raise
        self._size += len(line)

    def _check_place(self, segment: int) -> None:
        """Raise TakenOverError if another driver has started to write, and FolderGoneError if the folder is gone."""
        following, own = self._path(self._number + 1), os.fstat(segment)
        if _is_at(own, self._path(self._number)):
            if following.exists():
                raise TakenOverError(f"another driver has begun to write, in {following.name}")
            return
        if own.st_nlink:  # Linux knows the file's path; a file server renames a deleted file that is still open
            now = _open_file(segment)
            renamed = now is not None and now.name != self._path(self._number).name
            raise FolderGoneError(deleted=renamed, now=None if now is None or renamed else now.parent)
        if following.exists() or self._compacted(self._number).exists() or self._content().last > self._number:
            raise TakenOverError(f"another driver has begun to write, in {following.name}")  # which it has compacted
        raise FolderGoneError(deleted=True)

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

    def checked(self, hear: Callable[[Line], None] = lambda line: None) -> Checked:
        """Read all lines, pass each to ``hear``, and return the result. Raises the errors of ``lines``."""
        self.cut, loose = None, 0
        for line in self.lines():
            loose += not line.segment.endswith(SUFFIX)
            hear(line)
        return Checked(self.appends, loose, self.cut)

    def _cut_torn(self, content: _Content, checked: Checked) -> int:
        """Cut a torn last line that ``checked`` reports. Returns the number of loose lines (``Checked``)."""
        self.appends, self.cut = checked.appends, checked.cut
        if self.cut is not None:
            written = [segment for segment in content.segments if segment.stat().st_size]
            *_, torn = lines_in(written[-1])
            _shorten(written[-1], torn.number)
        return checked.loose

    def _compact(self, content: _Content) -> _Content:
        """Write all lines into one compacted file, compare this file with the lines, then delete the old files."""
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
    """Return the current path of an open file; None if the operating system does not provide it."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None


def _locked(folder: Path) -> int:
    """Lock the folder, and return the descriptor of the lock file. The lock lasts until the descriptor is closed or the
    process ends. Raises UserError if another process has the lock.
    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _has_taken(descriptor):
            time.sleep(LOOKED_AT)
            if not _has_taken(descriptor):
                holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "unknown"
                raise UserError(f"{folder}: process {holder} writes this study (allowed: one driver at a time)")
    except BaseException:
        os.close(descriptor)
        raise
    with suppress(OSError):  # the lock is valid even if a full disk does not take the holder's name
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} on {socket.gethostname()}".encode(), 0)
    return descriptor


def _has_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]


def _shorten(segment: Path, number: int) -> None:
    """Cut the last line of a segment. ``number``: the line number, counted from 1."""
    with segment.open("r+b") as file:
        for _ in range(number - 1):
            file.readline()
        file.truncate(file.tell())
        os.fsync(file.fileno())
