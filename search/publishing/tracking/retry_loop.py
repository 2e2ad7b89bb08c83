"""The loop of a process that writes into a store: poll, write, and back off where the store does not answer."""

from collections.abc import Callable
from typing import Final, Protocol

from skipstack.data.basis.errors import one_line

POLL: Final = 0.25
"""Seconds between two calls of the work."""

PAUSE: Final = 1.0
"""Seconds until a call that failed is made again: doubled with each failure in a row, ``DOUBLINGS`` times at most."""

DOUBLINGS: Final = 6

LAST_PAUSE: Final = 4.0
"""Seconds between two calls, at most, once somebody waits for the end."""

ATTEMPTS: Final = 5
"""Failures in a row, without progress between them, after which work that is to end is given up."""


class WorkOwner(Protocol):
    """The owner of the work, who is told how it goes and may wait for its end."""

    def waits(self, seconds: float) -> bool:
        """Sleep for so many seconds, or until somebody waits for the end; returns whether somebody does."""

    def progressed(self) -> None:
        """The work made progress."""

    def failed(self, trouble: str) -> None:
        """A call of the work failed; ``trouble`` is one line."""


class RetryLoop:
    """Calls work again and again, for a ``listener``."""

    def __init__(self, listener: WorkOwner) -> None:
        self._listener = listener
        self._progress = False

    def progressed(self) -> None:
        """Called by the work when it made progress: whoever waits goes on waiting, and failures are counted anew."""
        self._progress = True
        self._listener.progressed()

    def run(self, work: Callable[[bool], None]) -> str | None:
        """Call ``work`` until it succeeds once while somebody waits for the end, which its argument says.

        Returns None, or one line on the last failure if the work was given up.
        """
        failures = 0
        closing = self._listener.waits(0)
        while True:
            self._progress = False
            try:
                work(closing)
                if closing:
                    return None
                failures = 0
            except Exception as error:  # noqa: BLE001 (a store can fail in any way, and may be back in a moment)
                failures = 1 if self._progress else failures + 1
                trouble = one_line(error)
                if closing and failures >= ATTEMPTS:
                    return trouble
                self._listener.failed(trouble)
            pause = PAUSE * 2 ** min(failures, DOUBLINGS) if failures else POLL
            closing = self._listener.waits(min(pause, LAST_PAUSE) if closing else pause)
