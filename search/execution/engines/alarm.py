"""An alarm in this process, for what else might never end."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Alarm(BaseException):
    """The time is over. Not caught by ``except Exception``, so that what takes the time ends."""


@contextmanager
def alarm_after(seconds: float | None) -> Iterator[None]:
    """Within, the main thread raises Alarm once so many seconds have passed; None: never. Python code is interrupted, a
    library's computation at its end. In another thread there is no alarm, since signals reach the main thread alone.
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
