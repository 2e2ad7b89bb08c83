"""Output capture: while a trial is trained in a process, its log gets what the process prints and warns.

Python's streams are captured as they are written to, and show what they showed before. In a process of a cluster, the
output of C code and child processes to its file descriptors is captured, too: Ray gives each process files of its own
for them, which are read. Nothing is redirected, so that nobody waits for a reader, and Ray's own files stay complete.
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
"""Seconds between two reads of what C code has written."""

AT_ONCE: Final = 1 << 16
"""Bytes that are read at once."""

UTF_8: Final = getincrementaldecoder("utf-8")

_listener: ContextVar[TrialLog | None] = ContextVar("listener", default=None)
"""The log that captures a thread's output; None in threads that a function has started itself."""

_listening: list[TrialLog] = []
"""The logs that capture output now: more than one if studies run in threads of one process."""

_lock = threading.Lock()
"""Held while the streams are replaced."""


@contextmanager
def captured(log: TrialLog, *, own_process: bool) -> Iterator[None]:
    """Capture in ``log`` what is printed in the block, and the whole traceback of an error that leaves it.

    ``own_process``: nothing but trials, one at a time, runs in this process.
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
    """Log the block's output as that of ``speaker``, such as ``seed 0``: only one call of a trial runs at a time."""
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
    log.speaker = None  # unless it raised: the traceback is this call's


class _CapturedStream:
    """A stream that shows what it did before, and is captured."""

    def __init__(self, stream: TextIO) -> None:
        self.shows = stream

    def write(self, text: str) -> int:
        """Show the text, and log it."""
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
    """Pass text to the log of this thread, or the only active one; text in a captured file is read from there."""
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
            found = _streams().items()  # a function may have kept a captured one
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
    """Replace the standard streams by these, also in handlers that write log records to them."""
    for handler in logging.getLogger().handlers:
        for name, stream in streams.items():
            if isinstance(handler, logging.StreamHandler) and handler.stream is getattr(sys, name):
                handler.stream = stream
    for name, stream in streams.items():
        setattr(sys, name, stream)


class _OwnFile:
    """The file that a descriptor of this process writes to, as no other process does but its children."""

    def __init__(self, number: int) -> None:
        """Raises OSError if there is no such file."""
        if f"-{os.getpid()}." not in Path(f"/proc/self/fd/{number}").readlink().name or not S_ISREG(
            os.fstat(number).st_mode
        ):
            raise OSError(f"descriptor {number} has no file of its own")
        self._file = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
        self.skip()

    def skip(self) -> None:
        """Go to the end of the file."""
        self._place = os.fstat(self._file).st_size
        self._decoder = UTF_8(errors="replace")

    def read(self, hear: Callable[[str], None]) -> None:
        """Pass on what was added since the last read."""
        size = os.fstat(self._file).st_size
        self._place = min(self._place, size)  # somebody may have emptied it
        while self._place < size and (added := os.pread(self._file, AT_ONCE, self._place)):
            self._place += len(added)
            hear(self._decoder.decode(added))


class _Descriptors:
    """The file descriptors of this process that have files of their own; at first none is captured."""

    def __init__(self) -> None:
        self._files: dict[int, _OwnFile] = {}
        self._log: TrialLog | None = None
        self._last: TrialLog | None = None
        self._process = os.getpid()
        self._lock = threading.RLock()  # a signal handler may print, too
        self._listens = threading.Event()

    def has(self, stream: TextIO) -> bool:
        """Whether the output of a stream is captured here."""
        try:
            return bool(self._files) and stream.fileno() in self._files
        except (OSError, ValueError, AttributeError):  # of streams of any class
            return False

    @contextmanager
    def heard_by(self, log: TrialLog) -> Iterator[None]:
        """Capture in ``log`` all that is written to the files during the block."""
        _flush()
        with self._lock:
            for each in self._opened():
                if log is not self._last:  # else it was written between two epochs of this trial
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
        """Log what was written meanwhile. In a child process, do nothing: its parent logs it."""
        if self._log is None or os.getpid() != self._process:
            return
        with self._lock, suppress(OSError):
            for each in self._files.values():
                if self._log is not None:
                    each.read(self._log.hear)

    def settle(self) -> None:
        """Log what Python and C have buffered, too."""
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
    """Capture the descriptors during the block; if the process crashes, its traceback is written into the log."""
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
    """Flush the buffers of Python and C."""
    for stream in _streams().values():
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    _libc().fflush(None)
