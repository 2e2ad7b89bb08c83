"""An alarm in this process, to end work that might take forever."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Alarm(BaseException):
    """The time is over. Not caught by ``except Exception``, so that the work ends."""


@contextmanager
def alarm_after(seconds: float | None) -> Iterator[None]:
    """Raise Alarm in the main thread once the block has taken ``seconds``; None: never. Python code is interrupted, a
    library's computation when it ends. In another thread there is no alarm, since signals reach the main thread alone.
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
