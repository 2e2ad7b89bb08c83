"""Threads that wait in native code, perhaps forever."""

import os
import sys
from threading import Thread
from typing import Final, NoReturn

LEFT: Final[list[Thread]] = []


def leave_behind(thread: Thread) -> None:
    """Stop waiting for a thread, which may run for as long as this process does."""
    LEFT.append(thread)


def leave(code: int) -> NoReturn:
    """Exit this process with a code: normally, or at once if a thread that was left behind is still running.

    A normal exit would tear down the code in which such a thread waits; it would crash, and so change the exit code.
    """
    if any(thread.is_alive() for thread in LEFT):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
