"""Threads that wait, in code that is not Python's, for what may never come."""

import os
import sys
from threading import Thread
from typing import Final, NoReturn

LEFT: Final[list[Thread]] = []


def leave_behind(thread: Thread) -> None:
    """Wait no longer for a thread, which may go on for as long as this process does."""
    LEFT.append(thread)


def leave(code: int) -> NoReturn:
    """End this process with a code: in order, or at once where a thread was left behind that still waits.

    What such a thread waits in is taken down by an end in order, which would crash it, and so change the code.
    """
    if any(thread.is_alive() for thread in LEFT):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
