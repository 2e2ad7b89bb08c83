"""Handles SIGTERM (sent by cluster managers and ``ray job stop``) and SIGHUP (sent when a terminal is closed) like
Ctrl-C, so that the study ends cleanly.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP in the block into SIGINT. Does nothing outside the main thread, since only the main
    thread can set signal handlers.

    A SIGHUP after a SIGTERM or SIGHUP is dropped instead of counting as a second Ctrl-C: when a terminal is closed, the
    kernel and the shell both send SIGHUP, and systemd sends SIGHUP after SIGTERM. If SIGHUP was ignored before the
    block, as under ``nohup``, it stays ignored.
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
    at_interrupt = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        for number, handler in {**before, signal.SIGINT: at_interrupt}.items():
            if handler is not None:  # a handler that Python did not set cannot be set again
                signal.signal(number, handler)
