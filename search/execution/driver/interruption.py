"""Handles SIGTERM (sent by cluster managers and ``ray job stop``) and SIGHUP (sent when a terminal is closed) like
Ctrl-C, so that the study ends cleanly.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)

_OURS: Final[list[Any]] = []
"""Handlers of SIGTERM and SIGHUP that forked processes do not inherit."""

_thread: Final = threading.local()
"""``blocked``: the signals that were blocked in a thread before the fork that is under way."""


def _before_fork() -> None:
    """Block the signals until the new process has its handlers. Python would lose a signal that arrives earlier."""
    _thread.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def _after_fork() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _thread.blocked)


def _in_forked_process() -> None:
    """Let SIGTERM and SIGHUP end a process that was just forked. ``multiprocessing.Pool`` ends its processes by
    SIGTERM, and would wait for ever if they ignored it.
    """
    for number in ENDING:
        if signal.getsignal(number) in _OURS:
            signal.signal(number, signal.SIG_DFL)
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_forked_process)


def not_inherited() -> None:
    """Prevent later forks of this process from inheriting its present handlers of SIGTERM and SIGHUP, such as the
    handlers that Ray sets in its workers.
    """
    handlers = (signal.getsignal(number) for number in ENDING)
    _OURS.extend(handler for handler in handlers if callable(handler))


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP in the block into SIGINT. Does nothing outside the main thread, since only that thread
    can set signal handlers.

    A SIGHUP after a SIGTERM or SIGHUP is dropped, so that it does not count as a second Ctrl-C. When a terminal is
    closed, the kernel and the shell both send SIGHUP; systemd sends SIGHUP after SIGTERM. If SIGHUP was ignored before
    the block, as under ``nohup``, it stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal ending
        if ending and number == signal.SIGHUP:
            return
        ending = True
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background command of a shell script
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.SIGINT)

    handled = [signal.SIGTERM, *([signal.SIGHUP] if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN else [])]
    before = {number: signal.signal(number, interrupt) for number in handled}
    _OURS.append(interrupt)
    at_interrupt = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        _OURS.remove(interrupt)
        for number, handler in {**before, signal.SIGINT: at_interrupt}.items():
            if handler is not None:  # a handler that Python did not set cannot be set again
                signal.signal(number, handler)
