"""Captures the output and warnings of a process in a trial's log while the process trains the trial.

Text that Python code writes to its streams is passed to the log, and also to the original stream. In a process of a Ray
cluster, the output of C code and child processes to the file descriptors 1 and 2 is captured, too. Ray gives each
process its own files for these descriptors, and this module reads the files. No descriptor is redirected, so no writer
waits for a reader, and Ray's own files stay complete.
"""

import ctypes
import faulthandler
import logging
import os
import sys
import threading
import time
import traceback
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, TextIO

from skipstack.search.execution.workers.trial_log import TrialLog

STREAMS: Final = {"stdout": 1, "stderr": 2}
"""The captured streams, with their file descriptors."""

EVERY: Final = 0.25
"""Seconds between two reads of the files of the descriptors."""

AT_ONCE: Final = 1 << 16
"""Largest number of bytes per read."""

UTF_8: Final = getincrementaldecoder("utf-8")

_listener: ContextVar[TrialLog | None] = ContextVar("listener", default=None)
"""The log that captures a thread's output; None if there is none, as in threads that a user's function has started."""

_listening: list[TrialLog] = []
"""The active logs: several if studies run in several threads of one process."""

_lock = threading.Lock()
"""Lock that is held while the standard streams are replaced."""


@contextmanager
def captured(log: TrialLog, *, own_process: bool) -> Iterator[None]:
    """Capture in ``log`` the output of the block, and the traceback of an error that leaves the block. ``own_process``:
    whether this process runs only trials, which take turns. If so, the output of C code and of child processes is
    captured, too.
    """
    log.begin()
    before = _listener.set(log)
    try:
        with _streams_captured(log), _process_captured(log) if own_process else nullcontext():
            try:
                yield
            except Exception as error:
                _descriptors().settle()
                log.end_line()
                log.hear("".join(traceback.format_exception(error)))
                raise
    finally:
        _listener.reset(before)
        log.rest()
        log.speaker = None


@contextmanager
def output_of(speaker: str) -> Iterator[None]:
    """Log the block's output under the name ``speaker``, such as ``seed 0``. Blocks of a trial must not overlap."""
    log = _listener.get()
    if log is None:
        yield
        return
    log.speaker = speaker
    try:
        yield
    finally:
        _descriptors().settle()
        log.end_line()
    log.speaker = None  # after an error, the name stays for the traceback


class _CapturedStream:
    """Replaces a standard stream: passes text to the original stream, ``shows``, and to the log."""

    def __init__(self, stream: TextIO) -> None:
        self.shows = stream

    def write(self, text: str) -> int:
        """Write the text to the original stream, and pass it to the log."""
        if _descriptors().has(self.shows):
            _descriptors().listen()  # earlier output of C code comes first
        try:
            return self.shows.write(text)
        finally:
            _tell(self.shows, text)

    def writelines(self, lines: Any) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shows, name)


def _tell(stream: TextIO, text: str) -> None:
    """Pass text to the log of this thread or, if it has none, to the only active log. If the stream writes to a
    captured file, the log gets the text from that file instead.
    """
    log = _listener.get() or (_listening[0] if len(_listening) == 1 else None)
    if log is None or not isinstance(text, str):
        return
    if _descriptors().has(stream):
        if "\n" in text:
            with suppress(OSError, ValueError):
                stream.flush()
            _descriptors().listen()
    else:
        log.hear(text)


@contextmanager
def _streams_captured(log: TrialLog) -> Iterator[None]:
    with _lock:
        if not _listening:
            found = _streams().items()  # a function may have put back a captured stream that it kept
            _exchange(
                {name: _CapturedStream(stream) for name, stream in found if not isinstance(stream, _CapturedStream)}
            )
        _listening.append(log)
    try:
        yield
    finally:
        with _lock:
            _listening.remove(log)
            if not _listening:  # streams that the function itself has replaced stay
                _exchange({name: each.shows for name, each in _streams().items() if isinstance(each, _CapturedStream)})


def _streams() -> dict[str, Any]:
    """The standard streams that exist, by their names."""
    return {name: stream for name in STREAMS if (stream := getattr(sys, name)) is not None}


def _exchange(streams: Mapping[str, Any]) -> None:
    """Replace the standard streams by ``streams``, also in handlers of the root logger."""
    for handler in logging.getLogger().handlers:
        for name, stream in streams.items():
            if isinstance(handler, logging.StreamHandler) and handler.stream is getattr(sys, name):
                handler.stream = stream
    for name, stream in streams.items():
        setattr(sys, name, stream)


class _OwnFile:
    """Reads the file to which descriptor ``number`` writes. Only this process and its children may write to it."""

    def __init__(self, number: int) -> None:
        """Open the file at its end. Raises OSError if the descriptor does not have its own file."""
        if f"-{os.getpid()}." not in Path(f"/proc/self/fd/{number}").readlink().name or not S_ISREG(
            os.fstat(number).st_mode
        ):
            raise OSError(f"descriptor {number} has no file of its own")
        self._file = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
        self.skip()

    def skip(self) -> None:
        """Move to the end of the file, so that its present content is not read."""
        self._place = os.fstat(self._file).st_size
        self._decoder = UTF_8(errors="replace")

    def read(self, hear: Callable[[str], None]) -> None:
        """Pass the text that was added since the last read to ``hear``."""
        size = os.fstat(self._file).st_size
        self._place = min(self._place, size)  # the file may have been emptied
        while self._place < size and (added := os.pread(self._file, AT_ONCE, self._place)):
            self._place += len(added)
            hear(self._decoder.decode(added))


class _Descriptors:
    """Captures the output to file descriptors 1 and 2 of this process, if Ray has given each its own file."""

    def __init__(self) -> None:
        self._files: dict[int, _OwnFile] = {}
        self._log: TrialLog | None = None
        self._last: TrialLog | None = None
        self._process = os.getpid()
        self._lock = threading.RLock()  # a signal handler may print, too
        self._listens = threading.Event()

    def has(self, stream: TextIO) -> bool:
        """Whether a stream writes to a descriptor whose file is read here."""
        try:
            return bool(self._files) and stream.fileno() in self._files
        except (OSError, ValueError, AttributeError):  # a stream may be of any class
            return False

    @contextmanager
    def heard_by(self, log: TrialLog) -> Iterator[None]:
        """Pass the text that is written to the files during the block to ``log``."""
        _flush()
        with self._lock:
            for each in self._opened():
                if log is not self._last:  # text from between two epochs of a trial is logged
                    each.skip()
            self._log = self._last = log
        self._listens.set()
        try:
            yield
        finally:
            self._listens.clear()
            self.settle()
            with self._lock:
                self._log = None

    def listen(self) -> None:
        """Log the text written to the files since the last read, unless in a child process, whose parent logs it."""
        if self._log is None or os.getpid() != self._process:
            return
        with self._lock, suppress(OSError):
            for each in self._files.values():
                if self._log is not None:
                    each.read(self._log.hear)

    def settle(self) -> None:
        """Flush the buffers of Python and C, and log the text that was written to the files."""
        if self._log is not None:
            _flush()
            self.listen()

    def _opened(self) -> list[_OwnFile]:
        if not self._files:
            with suppress(OSError):
                self._files = {number: _OwnFile(number) for number in STREAMS.values()}
                threading.Thread(target=self._listen_on, daemon=True, name="skipstack log").start()
        return list(self._files.values())

    def _listen_on(self) -> None:
        while True:
            self._listens.wait()
            self.listen()
            time.sleep(EVERY)


@lru_cache(maxsize=1)
def _descriptors() -> _Descriptors:
    return _Descriptors()


@contextmanager
def _process_captured(log: TrialLog) -> Iterator[None]:
    """Capture the descriptors' output in ``log`` during the block, and faulthandler's traceback of a crash."""
    was = faulthandler.is_enabled()
    if log.descriptor is not None:
        faulthandler.enable(log.descriptor, all_threads=False)
    try:
        with _descriptors().heard_by(log):
            yield
    finally:
        if was:
            faulthandler.enable(STREAMS["stderr"], all_threads=False)
        else:
            faulthandler.disable()


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _flush() -> None:
    for stream in _streams().values():
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    _libc().fflush(None)
