"""A thread that works behind the study's back, and tries again where it fails."""

import threading
import time
from collections.abc import Callable

from skipstack.data.basis.errors import one_line

GATHER = 1.0
"""Seconds between two calls of the work; doubled with each failure in a row, ``DOUBLINGS`` times at most."""

DOUBLINGS = 6

LAST_PAUSE = 4.0
"""Seconds between two calls, at most, once somebody waits for the end."""

ATTEMPTS = 5
"""Failures in a row, without progress between them, after which work that is to end is given up."""

PATIENCE = 120.0
"""Seconds without progress after which a call that hangs is left alone."""


class Background:
    """Calls ``work`` again and again; its argument says whether somebody waits for the end.

    The thread never keeps the process from ending.
    """

    def __init__(self, work: Callable[[bool], None]) -> None:
        self._work = work
        self._trouble = "no answer"
        self._done = False
        self._progress = 0.0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)

    def start(self) -> None:
        """Begin; apart from the constructor, so that the work can use what owns it."""
        self._thread.start()

    def advanced(self) -> None:
        """The work tells that it got on, so that ``close`` has patience."""
        self._progress = time.monotonic()

    def close(self) -> str | None:
        """Wait for one more call of the work that succeeds; None, or one line: what failed last.

        Waits as long as there is progress, and ``PATIENCE`` seconds after it.
        """
        self.advanced()
        self._closing.set()
        while self._thread.is_alive() and time.monotonic() < self._progress + PATIENCE:
            self._thread.join(0.1)
        return None if self._done else self._trouble

    def _run(self) -> None:
        failures = 0
        while not self._done:
            progress = self._progress
            closing = self._closing.is_set()  # asked before the call: what was told before `close` is worked on
            try:
                self._work(closing)
                failures, self._done = 0, closing
            except Exception as error:  # noqa: BLE001 (a store can fail in any way, and may be back in a moment)
                failures = failures + 1 if self._progress == progress else 1
                self._trouble = one_line(error)
            pause = GATHER * 2 ** min(failures, DOUBLINGS)
            if not closing:
                self._closing.wait(pause)
            elif failures >= ATTEMPTS:
                return
            elif failures:
                time.sleep(min(pause, LAST_PAUSE))
