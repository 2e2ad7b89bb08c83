"""The loop of a process that writes into a store: repeats a function (the work), with longer pauses after failures."""

from collections.abc import Callable
from typing import Final, Protocol

from skipstack.data.basis.errors import one_line

POLL: Final = 0.25
"""The pause in seconds after a call without a failure."""

PAUSE: Final = 1.0
"""The pause in seconds after n successive failures is 2**n times this number."""

DOUBLINGS: Final = 6
"""The maximum of n in the formula of ``PAUSE``."""

LAST_PAUSE: Final = 4.0
"""The maximum pause in seconds once the owner waits for the end."""

ATTEMPTS: Final = 5
"""Once the owner waits, the work is given up after this many successive failures without progress."""


class WorkOwner(Protocol):
    """The owner of the work. It is told of progress and failures, and may wait for the end of the work."""

    def waits(self, seconds: float) -> bool:
        """Sleep for ``seconds``, or until the owner waits for the end. Returns whether the owner waits."""

    def progressed(self) -> None:
        """Note that the work made progress."""

    def failed(self, trouble: str) -> None:
        """Note that a call of the work failed. ``trouble``: the reason in one line."""


class RetryLoop:
    """Calls a function (the work) repeatedly. The loop ends when a call succeeds while the owner waits for the end."""

    def __init__(self, owner: WorkOwner) -> None:
        self._owner = owner
        self._progress = False

    def progressed(self) -> None:
        """Tell the owner of progress, and reset the count of failures. The work calls this."""
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
