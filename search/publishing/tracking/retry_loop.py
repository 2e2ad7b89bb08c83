"""The loop of a process that writes into a store: repeats a function (the work), with longer pauses after failures."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from skipstack.data.basis.child_process import Link
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

TELL_EVERY: Final = 1.0
"""The minimum seconds between two progress messages. This limits their number while the owner does not read."""

END: Final = "the study is over"
"""The owner's message to the process that no further events follow. The owner then waits for the end of the work."""


@dataclass(frozen=True, slots=True)
class Progressed:
    """A message to the owner: the work made progress, so that waiting longer makes sense."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A message to the owner: the work failed, and will be repeated. ``trouble``: the reason in one line."""

    trouble: str


class RetryLoop:
    """Calls a function (the work) repeatedly. The loop ends when a call succeeds while the owner waits for the end.

    ``link``: the link to the owner. Once the owner waits, progress and failures are sent to it. ``closing``: whether
    the owner waits from the beginning; otherwise it does after the message ``END``.
    """

    def __init__(self, link: Link, *, closing: bool = False) -> None:
        self._link = link
        self._closing = closing
        self._progress = False
        self._told = -math.inf

    def progressed(self) -> None:
        """Tell the owner of progress, and reset the count of failures. The work calls this."""
        self._progress = True
        if self._closing and time.monotonic() > self._told + TELL_EVERY:
            self._told = time.monotonic()
            self._link.send(Progressed())

    def run(self, work: Callable[[bool], None]) -> str | None:
        """Call ``work`` repeatedly until a call succeeds while the owner waits for the end. The argument of ``work``
        says whether the owner waits.

        Returns None, or a line on the last failure if the work was given up.
        """
        failures = 0
        self._pause(0)
        while True:
            self._progress, closing = False, self._closing
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
                if closing:
                    self._link.send(Failed(trouble))
            pause = PAUSE * 2 ** min(failures, DOUBLINGS) if failures else POLL
            self._pause(min(pause, LAST_PAUSE) if closing else pause)

    def _pause(self, seconds: float) -> None:
        """Sleep for ``seconds``, or until the owner waits for the end."""
        if self._closing:
            time.sleep(seconds)
        elif self._link.poll(seconds):
            self._closing = self._link.recv() == END
