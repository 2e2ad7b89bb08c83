"""A time limit for a block of code in this process, by an alarm signal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Alarm(BaseException):
    """The time limit has passed. ``except Exception`` does not catch it, so the limited code ends."""


@contextmanager
def alarm_after(seconds: float | None) -> Iterator[None]:
    """Raise Alarm in the block after ``seconds``; None means never. Compiled code is interrupted only when it returns.
    Does nothing outside the main thread, which alone receives signals.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
