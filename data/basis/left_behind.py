"""Exits a process while some of its threads may still be waiting in native code, perhaps forever."""

import os
import sys
from threading import Thread
from typing import Final, NoReturn

LEFT: Final[list[Thread]] = []


def leave_behind(thread: Thread) -> None:
    """Register a thread that nobody waits for any longer. It may run until the process ends."""
    LEFT.append(thread)


def leave(code: int) -> NoReturn:
    """Exit this process with ``code``. If a registered thread is still running, exit at once, without Python's cleanup.

    A normal exit would unload the code in which such a thread waits. The thread would crash and change the exit code.
    """
    if any(thread.is_alive() for thread in LEFT):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
