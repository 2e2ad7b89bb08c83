"""Handles SIGTERM, which cluster managers and ``ray job stop`` send, like Ctrl-C: the study ends in order."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Within, SIGTERM raises SIGINT, which all code handles already; must be entered in the main thread."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    at_interrupt = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, at_interrupt)
