"""The standard streams of a process, any of which may be closed, full, or without a reader.

Text for stderr may be lost without harm. stdout carries the result of a command, so the command must learn of any loss.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import StringIO
from typing import Any, Final, TextIO, TypeVar, cast

from skipstack.data.basis.errors import UserError

NUMBERS: Final = (0, 1, 2)
"""The descriptors of stdin, stdout and stderr."""


Written = TypeVar("Written")


class OutputLostError(UserError):
    """Raised if stdout cannot be written. ``why``: the reason. ``reader_left``: whether the reader of stdout has
    stopped reading, as ``head`` does. ``first``: whether this is the first such error of this stdout.
    """

    def __init__(self, why: str, *, reader_left: bool = False, first: bool = True) -> None:
        super().__init__(f"stdout cannot be written ({why})")
        self.reader_left = reader_left
        self.first = first


class _Stream:
    """A stream that behaves like another one, except for ``isatty`` and the methods that a subclass overrides."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost = False
        """Whether nothing can be written any more."""

    def isatty(self) -> bool:
        """Whether the stream is a terminal and can be written."""
        try:
            return not self.lost and self._stream.isatty()
        except Exception:  # noqa: BLE001 (the stream may be of any class: that of a notebook, or of a user)
            return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Shown(_Stream):
    """A stream for messages. Text that cannot be written is dropped. After an error, all later text is dropped too,
    unless the error was a full non-blocking pipe.
    """

    def write(self, text: str) -> int:
        """Write the text, if possible."""
        self._try(partial(self._stream.write, text))
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, if possible."""
        self._try(self._stream.flush)

    def _try(self, writing: Callable[[], object]) -> None:
        if not self.lost:
            try:
                writing()
            except BlockingIOError:
                pass  # a non-blocking pipe that is full at the moment
            except Exception:  # noqa: BLE001 (the stream may be of any class)
                self.lost = True


class Result(_Stream):
    """A stdout for the result of a command. Raises OutputLostError if writing fails, UnicodeError if encoding fails."""

    def __init__(self, stream: TextIO, *, closed: bool = False) -> None:
        super().__init__(stream)
        self.lost = closed
        self._why = "it is closed"
        self._raised = False

    def write(self, text: str) -> int:
        """Write the text. Raises OutputLostError if this fails, and at every later call."""
        if self.lost:
            raise self._error()
        return self._tried(partial(self._stream.write, text))

    def flush(self) -> None:
        """Write what is buffered. Raises OutputLostError if this fails. Does nothing if the stream was lost before."""
        if not self.lost:
            self._tried(self._stream.flush)

    def _tried(self, writing: Callable[[], Written]) -> Written:
        try:
            return writing()
        except UnicodeError:
            raise
        except (OSError, ValueError) as error:
            self.lost = True
            self._why = getattr(error, "strerror", None) or str(error)
            raise self._error(reader_left=isinstance(error, BrokenPipeError)) from error

    def _error(self, *, reader_left: bool = False) -> OutputLostError:
        first, self._raised = not self._raised, True
        return OutputLostError(self._why, reader_left=reader_left, first=first)


def shown(stream: TextIO | None) -> TextIO:
    """Wrap a stream for messages, such as stderr. For None, a missing stderr, nothing is shown."""
    return cast("TextIO", Shown(stream if stream is not None else StringIO()))


@contextmanager
def standard_streams() -> Iterator[None]:
    """Context in which stdout is a ``Result`` and stderr is a ``Shown``. Use it only in a process of our own, since it
    changes descriptors.

    A closed descriptor is opened on the null device. If it stayed closed, the next opened file would get its number,
    and text for stdout or stderr would be written into that file. At the end, buffered text that cannot be written is
    discarded, so that Python does not try again at exit.
    """
    for number in NUMBERS:
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # os.open returns the lowest free number: this one
    before = sys.stdin, sys.stdout, sys.stderr
    closed = sys.stdout is None
    out = sys.stdout or os.fdopen(1, "w", closefd=False)
    error = sys.stderr or os.fdopen(2, "w", closefd=False)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    result, messages = Result(out, closed=closed), Shown(error)
    sys.stdout, sys.stderr = cast("TextIO", result), cast("TextIO", messages)
    try:
        yield
    finally:
        with suppress(OutputLostError):
            result.flush()
        messages.flush()
        for stream, own in ((result, out), (messages, error)):
            if stream.lost:
                _emptied(own)
        sys.stdin, sys.stdout, sys.stderr = before


def _emptied(stream: TextIO) -> None:
    """Discard the buffered text of a stream. Python would try to write it at exit, fail, and exit with code 120."""
    with suppress(OSError, ValueError):
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
        stream.flush()
