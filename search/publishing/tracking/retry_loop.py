"""The loop of a process that writes into a store: it repeats the work, and waits longer after failures."""

from collections.abc import Callable
from typing import Final, Protocol

from skipstack.data.basis.errors import one_line

POLL: Final = 0.25
"""The seconds until the next call of the work after a call without a failure."""

PAUSE: Final = 1.0
"""After n failures in a row, the next call comes after 2**n times this many seconds."""

DOUBLINGS: Final = 6
"""The maximum of n in the formula of ``PAUSE``: further failures do not make the pause longer."""

LAST_PAUSE: Final = 4.0
"""The maximum number of seconds between two calls once the owner waits for the end."""

ATTEMPTS: Final = 5
"""If the owner waits for the end, the work is given up after this many failures in a row without progress."""


class WorkOwner(Protocol):
    """The owner of the work, who receives its progress and its failures, and may wait for its end."""

    def waits(self, seconds: float) -> bool:
        """Sleep for ``seconds``, or until the owner waits for the end. Returns whether the owner waits."""

    def progressed(self) -> None:
        """Note that the work made progress. ``RetryLoop`` calls this."""

    def failed(self, trouble: str) -> None:
        """Note that a call of the work failed. ``RetryLoop`` calls this. ``trouble``: why it failed, in one line."""


class RetryLoop:
    """Calls work repeatedly until a call succeeds while the owner waits. ``owner``: the owner of the work."""

    def __init__(self, owner: WorkOwner) -> None:
        self._owner = owner
        self._progress = False

    def progressed(self) -> None:
        """Record progress; the work calls this. The owner is informed, and the count of failures starts again."""
        self._progress = True
        self._owner.progressed()

    def run(self, work: Callable[[bool], None]) -> str | None:
        """Call ``work`` repeatedly until a call succeeds while the owner waits for the end. The argument of ``work``
        says whether the owner waits.

        Returns None, or a line on the last failure if the work was given up.
        """
        failures = 0
        closing = self._owner.waits(0)
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
                self._owner.failed(trouble)
            pause = PAUSE * 2 ** min(failures, DOUBLINGS) if failures else POLL
            closing = self._owner.waits(min(pause, LAST_PAUSE) if closing else pause)
